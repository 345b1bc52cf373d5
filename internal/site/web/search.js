// The search looks for sections in which each word of the question begins a word. search-index.js has them all.
"use strict";
const most = 40; // results that are shown
const around = 70; // letters before and behind a word that is shown in its text

const field = document.querySelector("input[type=search]");
const said = document.getElementById("said");
const results = document.getElementById("results");

const wordsOf = (question) => question.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
const beginning = (word) => new RegExp("(?<![\\p{L}\\p{N}])" + word, "giu");

// weight is how well a section answers; 0: it lacks a word.
function weight(section, patterns) {
  let sum = 0;
  for (const pattern of patterns) {
    const count = (text) => text.match(pattern)?.length ?? 0;
    const own = 20 * count(section.heading) + Math.min(10, count(section.text)) + (section.anchor ? 2 : 40) * count(section.title);
    if (!own) return 0;
    sum += own;
  }
  return sum;
}

function excerpt(text, patterns) {
  const first = Math.min(text.length, ...patterns.map((p) => text.search(p)).filter((at) => at >= 0));
  const from = first === text.length || first < around ? 0 : text.indexOf(" ", first - around) + 1;
  const to = Math.min(text.length, from + 3 * around);
  return (from ? "… " : "") + text.slice(from, to) + (to < text.length ? " …" : "");
}

// marked appends a text to an element, with the words that were asked for marked.
function marked(element, text, words) {
  const any = new RegExp("(?<![\\p{L}\\p{N}])(" + words.join("|") + ")", "giu");
  text.split(any).forEach((piece, i) => {
    if (i % 2 === 0) return element.append(piece);
    const mark = document.createElement("mark");
    mark.append(piece);
    element.append(mark);
  });
}

function result(section, words, patterns) {
  const item = document.createElement("li");
  const link = document.createElement("a"), part = document.createElement("small");
  link.href = section.page + (section.anchor ? "#" + section.anchor : "");
  link.append(section.heading ? section.title + ": " + section.heading : section.title);
  part.append(" " + section.part);
  const text = document.createElement("p");
  marked(text, excerpt(section.text, patterns), words);
  item.append(link, part, text);
  return item;
}

function search() {
  const words = wordsOf(field.value);
  const patterns = words.map(beginning);
  const found = words.length ? sections.map((section) => [weight(section, patterns), section]).filter(([w]) => w > 0) : [];
  found.sort(([a], [b]) => b - a);
  results.replaceChildren(...found.slice(0, most).map(([, section]) => result(section, words, patterns)));
  said.textContent = !words.length ? "Type a word above, such as watchdog."
    : !found.length ? `Nothing is found for ${words.join(" ")}. Try another word, or fewer.`
    : found.length > most ? `The first ${most} of ${found.length} places for ${words.join(" ")}.`
    : found.length === 1 ? `One place for ${words.join(" ")}.`
    : `${found.length} places for ${words.join(" ")}.`;
}

// The arrow keys go through the results, from the field on.
document.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const stops = [field, ...results.querySelectorAll("a")];
  const at = stops.indexOf(document.activeElement);
  if (!step || at < 0) return;
  stops[Math.max(0, Math.min(stops.length - 1, at + step))].focus();
  event.preventDefault();
});
field.addEventListener("input", search);
field.form.addEventListener("submit", (event) => {
  event.preventDefault();
  history.replaceState(null, "", "?q=" + encodeURIComponent(field.value));
  results.querySelector("a")?.focus();
});
field.value = new URLSearchParams(location.search).get("q") ?? "";
if (!field.value) field.focus();
search();
