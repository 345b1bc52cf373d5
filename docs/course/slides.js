"use strict";
const pages = [...document.querySelectorAll("section")];
const button = document.getElementById("notes");

const main = document.querySelector("main");

// swiped reports whether the pages lie side by side, as on a phone. A page that is long scrolls there.
const swiped = () => main.scrollWidth > main.clientWidth;

// here is the page that is in view.
const here = () => pages.map((p) => p.getBoundingClientRect()).findIndex((r) => r.bottom > innerHeight / 2 && r.right > innerWidth / 2);

function go(to) {
  const page = pages[Math.min(pages.length - 1, Math.max(0, to))];
  page.scrollIntoView({ block: document.body.classList.contains("notes") ? "start" : "center", inline: "start" });
  page.focus({ preventScroll: true });
}

// notes shows what to say below each page, or hides it, and stays at the page.
function notes() {
  const at = here();
  button.ariaPressed = String(document.body.classList.toggle("notes"));
  go(at);
}

button.addEventListener("click", notes);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key.toLowerCase() === "n") return notes();
  const step = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 }[event.key];
  if (!step || (swiped() && !/Left|Right/.test(event.key))) return;
  go(here() + step);
  event.preventDefault();
});
