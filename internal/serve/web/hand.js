// What a person can do: on each client, and what the plan says is next.

import { $, element, keyed, tell, text } from "./dom.js";

// hand makes what acts: does(step) asks the world for a step.
export function hand(scene, does) {
  let state; // that can be acted on
  let wantsNext = false; // the focus goes to the next step of the plan as soon as that can be done

  const act = (button, place) => {
    if (button.getAttribute("aria-disabled") === "true") return;
    return tell(place, () => does(button.dataset.step));
  };
  const listen = (root, placeOf) => root.addEventListener("click", (e) => {
    const button = e.target.closest("button[data-step]");
    if (!button || e.detail > 1) return; // the second click of a double click
    wantsNext = wantsNext || button.classList.contains("next");
    act(button, placeOf(button));
  });
  listen(scene, (button) => button.closest(".hand").querySelector(".trouble"));
  listen($("guide"), () => $("guide-trouble"));
  listen($("others"), () => $("guide-trouble"));

  return {
    // show shows what can be done in a state. past: the stage shows an earlier moment, and nothing can be done there.
    show(s, past) {
      state = s;
      const focused = document.activeElement;
      for (const card of scene.querySelectorAll(".client")) showHand(card, s, past);
      const others = s.choices.filter((c) => !c.client);
      keyed($("others").querySelector(".choices"), others, (c) => c.step, newButton, (e, c) => showButton(e, c, c.step, unguided(s), past));
      $("others").hidden = others.length === 0;
      guide(s, past, scene);
      refocus(focused);
    },
  };

  // refocus: the focus never falls away.
  function refocus(focused) {
    const next = document.querySelector("button.next");
    if (wantsNext && next && next.getAttribute("aria-disabled") !== "true") {
      wantsNext = false;
      return next.focus({ preventScroll: true });
    }
    if (focused === document.body || (focused.isConnected && focused.checkVisibility())) return;
    if (next && state.guide) return next.focus({ preventScroll: true });
    $("say").focus({ preventScroll: true });
  }
}

function newButton() {
  return element("button", { type: "button" }, element("span"));
}

// label shows a button's words, and a mark beside them where there is one.
function label(e, words, mark) {
  text(e.firstChild, words);
  if (!mark) return e.querySelector("small")?.remove();
  if (!e.querySelector("small")) e.append(" ", element("small"));
  const small = e.querySelector("small");
  text(small, mark.text);
  small.className = mark.tone;
}

// showButton shows a choice. Its client's own step that goes on keeps it back, and no other one.
function showButton(e, c, words, s, past) {
  const busy = past || (s.phase === "busy" && (s.busy === c.client || !c.client));
  e.dataset.step = c.step;
  e.title = c.about;
  e.setAttribute("aria-disabled", String(busy));
  e.classList.toggle("next", !busy && Boolean(s.guide) && !s.guide.waits && s.guide.step === c.step);
  label(e, words, s.marks?.get(c.step));
}

// unguided is a state for buttons that are folded away: the guide has one of its own for their step.
const unguided = (s) => ({ ...s, guide: undefined });

function newHand(card) {
  const stop = newButton();
  stop.className = "stop";
  const more = element("details", { className: "more" }, element("summary", { textContent: "more" }), element("div", { className: "choices" }));
  more.querySelector("summary").setAttribute("aria-label", "more for " + card.dataset.client);
  const trouble = element("p", { className: "trouble", hidden: true });
  trouble.setAttribute("role", "alert");
  const acts = element("div", { className: "acts" });
  acts.setAttribute("role", "group");
  acts.setAttribute("aria-label", "what " + card.dataset.client + " does next");
  card.querySelector(".hand").append(stop, acts, trouble, more);
}

function showHand(card, s, past) {
  if (!card.querySelector(".stop")) newHand(card);
  const name = card.dataset.client;
  const own = s.choices.filter((c) => c.client === name);
  const over = s.phase === "over" || s.phase === "failed";
  card.querySelector(".hand").hidden = over || s.phase === "starting";
  const stopping = own.find((c) => ["pause", "resume", "restart"].some((verb) => c.step === "gcsim: " + verb + " " + name));
  showStop(card, name, stopping, s, past);
  const rest = own.filter((c) => c !== stopping);
  const main = rest.filter((c) => c.main);
  keyed(card.querySelector(".acts"), main, (c) => c.words, newButton, (e, c) => showButton(e, c, c.words, s, past));
  const more = rest.filter((c) => !c.main);
  card.querySelector(".more").hidden = more.length === 0;
  keyed(card.querySelector(".more .choices"), more, (c) => c.step, newButton, (e, c) => showButton(e, c, c.text, unguided(s), past));
}

function showStop(card, name, stopping, s, past) {
  const stop = card.querySelector(".stop");
  stop.hidden = !stopping && !stop.textContent;
  if (!stopping) return stop.setAttribute("aria-disabled", "true");
  const verb = stopping.step.split(" ")[1];
  const words = { pause: "STOP", resume: "GO ON", restart: "START AGAIN" }[verb];
  showButton(stop, stopping, words, s, past);
  stop.classList.toggle("go", verb !== "pause");
  const mark = s.marks?.get(stopping.step);
  stop.setAttribute("aria-label", words + (mark ? " " + mark.text : "") + ": " + name);
  stop.dataset.stop = name;
}

// guide says what is next, and has the button where no actor has it.
function guide(s, past, scene) {
  const g = s.guide;
  const total = s.steps.length + s.plan.length;
  const doing = s.phase === "busy" && !(g && g.waits);
  text($("say"), past ? "You look at an earlier moment. The button Now brings you back." : sayings(s, g, doing));
  $("guide").classList.toggle("waits", Boolean(g && g.waits) || doing);
  const buttons = [];
  const home = g && scene.querySelector(`:is(.stop, .acts button)[data-step="${CSS.escape(g.step)}"]`);
  if (g && !home && !g.waits) buttons.push({ ...g, key: "next", words: "Next: " + g.words });
  if (g && total > s.steps.length + 1) buttons.push({ key: "rest", words: "Do all that is planned" });
  if (s.back && !g && s.phase !== "starting") buttons.push({ key: "back", words: "Back to the plan" });
  if (again(s)) buttons.push({ key: "again", words: s.again.words });
  if (s.ends && (!g || wrong(s))) buttons.push({ key: "end", words: "End the story", about: s.ends });
  keyed($("lead"), buttons, (b) => b.key, newButton, (e, b) => leadButton(e, b, s, past));
}

function leadButton(e, b, s, past) {
  label(e, b.words, s.marks?.get(b.step));
  e.id = b.key;
  e.title = b.about ?? "";
  e.setAttribute("aria-disabled", String(b.key !== "back" && b.key !== "again" && (past || s.phase === "busy")));
  if (!b.step) return e.classList.toggle("next", b.key === "again");
  e.dataset.step = b.step;
  e.classList.toggle("next", s.phase !== "busy");
}

// again reports whether the story is to be told once more with what helps.
const again = (s) => s.again && !s.guide && s.verdict.name === "corrupted";

// wrong reports whether something was refused, or harm was done.
const wrong = (s) => s.verdict.tone !== "good" || s.frames.at(-1).storage.refused > 0;

function sayings(s, g, doing) {
  const place = "Step " + (s.steps.length + 1) + " of " + (s.steps.length + s.plan.length) + ": ";
  if (s.phase === "starting") return "The processes start …";
  if (s.phase === "over") return "The story is over. Nothing of the world runs any more.";
  if (s.phase === "failed") return "The story could not go on: " + s.trouble;
  if (doing) return "Going on: " + s.doing;
  if (g && g.waits) return place + (g.text.startsWith("await") ? "now wait. The lease runs out by itself, as nobody renews it." : "now wait. " + g.client + " gets the lock as soon as it is free.");
  if (g) return place + (g.client ? g.client + ": " : "") + g.words + ". " + g.why;
  if (again(s)) return s.again.asks;
  if (s.verdict.fate && s.verdict.tone === "good") return "So " + s.verdict.fate + ": the storage has refused the late one. " + s.goOn;
  if (s.back) return "You have left the plan, and are on your own. Choose what a client does, or go back.";
  return s.steps.length ? "It is your turn. " + s.goOn : "It is your turn: choose what a client does.";
}
