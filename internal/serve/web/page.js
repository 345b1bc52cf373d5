// The page shows a world and asks for its steps. All that it shows of the world comes from
// the server, as one state after the other.

import { $, ask, element, keyed, tell, text } from "./dom.js";
import { idle, stage } from "./stage.js";
import { hand } from "./hand.js";
import { details, picture, time } from "./time.js";
import { connect, locate, open } from "./world.js";
import { start } from "./menu.js";

const root = document.documentElement;
$("theme").addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});

let state; // of the world that is shown

stage($("poster")).show(idle("etcd", "client1", "client2"), 0, false);
const scene = stage($("scene"));
const acts = hand($("scene"), (step) => ask("POST", "/api/worlds/" + state.id + "/steps", { step }));
const flow = time(scene, (past) => state && acts.show(state, past));
const draw = picture();
details();

// show shows a state; undefined: none.
function show(s, another) {
  const first = !state;
  const before = state;
  state = s;
  const shown = Boolean(s) || Boolean(another);
  $("intro").hidden = shown;
  $("world").hidden = $("drawers").hidden = !s;
  root.classList.toggle("told", Boolean(s));
  if (!s) return;
  showWords(s);
  if (first) begin(s);
  flow.take(s, first);
  acts.show(s, flow.past());
  showBelow(s);
  draw(s);
  const told = before ? s.frames.slice(before.frames.length).map((f) => f.text) : [];
  if (told.length) $("live").textContent = told.join(". ");
}

function begin(s) {
  document.title = "fencelab: " + s.title;
  for (const d of document.querySelectorAll("#below details")) d.open = false;
  $("live").textContent = "";
  $("title").focus({ preventScroll: true });
  scrollTo({ top: 0 });
}

function showWords(s) {
  $("world").dataset.phase = s.phase;
  $("world").dataset.steps = s.steps.length;
  $("world").dataset.events = s.events;
  text($("title"), s.challenge ? "Challenge: " + s.challenge.title : s.title);
  text($("about"), s.variant + ": " + s.about);
  $("refused").hidden = !s.refused;
  text($("refused"), s.refused ? s.refused.join(", ") + ": no token to show, as the lock gives none. The storage wants tokens, and refuses all their writes. Choose another way to take the lock, or fencing off." : "");
  $("verdict").className = s.verdict.tone;
  text($("pill"), s.verdict.name ? s.verdict.name + (s.phase !== "over" && s.verdict.tone === "good" ? " so far" : "") : "not begun");
  text($("fate"), s.verdict.fate);
}

function showBelow(s) {
  keyed($("findings"), s.verdict.findings, (f) => f, () => element("li"), text);
  const [lesson, helps] = $("lesson").querySelectorAll("p");
  text(lesson, s.lesson);
  text(helps, s.helps && "What helps: " + s.helps);
  $("lesson").hidden = !s.lesson || Boolean(s.challenge && !s.challenge.solved);
  const rows = s.frames.filter((f) => f.text).map((f, i) => ({ ...f, i }));
  keyed($("rows"), rows, (f) => String(f.i), () => element("li"), (e, f) => {
    e.className = f.harm ? "bad" : "";
    text(e, (f.at / 1000).toFixed(3) + " s: " + f.text);
  });
  showSteps(s);
  showChallenge(s);
  $("yaml").href = "/api/worlds/" + s.id + "/scenario.yaml";
  $("history").href = "/api/worlds/" + s.id + "/history.jsonl";
  $("yaml").hidden = !s.story;
  $("end").setAttribute("aria-disabled", String(s.phase !== "waiting" || s.steps.length === 0));
  $("any").hidden = s.phase === "over" || s.phase === "failed";
}

function showSteps(s) {
  const steps = s.steps.map((step, i) => ({ step, i }));
  keyed($("steps"), steps, (x) => "step " + x.i, newStep, (e, x) => {
    text(e.querySelector("code"), x.step);
    e.querySelector("button").setAttribute("aria-label", "go back to before it: step " + (x.i + 1) + ", " + x.step);
    e.className = s.phase === "busy" && x.step === s.doing ? "doing" : "";
  });
  $("told").hidden = steps.length === 0;
}

function newStep({ i }) {
  const back = element("button", { type: "button", textContent: "go back to before it" });
  back.dataset.back = i;
  back.addEventListener("click", () => tell($("message"), () => open({ ...story(), play: i })));
  return element("li", {}, element("code"), " ", back);
}

// story is what the world tells, as a wish for another one.
function story() {
  const wish = state.story ? { story: state.story, variant: state.variant } : {};
  if (state.challenge) wish.challenge = state.challenge.id;
  return wish;
}

function showChallenge(s) {
  $("challenge").hidden = !s.challenge;
  if (!s.challenge) return;
  text($("task"), s.challenge.task);
  text($("hint"), s.challenge.hint);
  $("chapter").href = s.challenge.chapter;
  $("chapter").hidden = !s.challenge.chapter;
  $("solved").hidden = !s.challenge.solved;
}

const usable = (e) => e.target.closest("button")?.getAttribute("aria-disabled") !== "true" && e.detail < 2;
$("lead").addEventListener("click", (e) => {
  if (!usable(e)) return;
  const does = {
    rest: () => ask("POST", "/api/worlds/" + state.id + "/rest"),
    back: () => open(state.back),
    again: () => open({ ...story(), fenced: true }),
  }[e.target.closest("button")?.dataset.key];
  if (does) tell($("guide-trouble"), does);
});
$("end").addEventListener("click", (e) => usable(e) && tell($("guide-trouble"), () => ask("POST", "/api/worlds/" + state.id + "/end")));
$("solution").addEventListener("click", () => tell($("message"), () => open({ challenge: state.challenge.id, solution: true })));
$("typed").addEventListener("submit", (e) => {
  e.preventDefault();
  tell($("typed-trouble"), () => ask("POST", "/api/worlds/" + state.id + "/steps", { step: $("line").value }));
});

connect(show);
tell($("message"), async () => {
  await start();
  await locate();
});
