// The page shows a world, and asks for its steps. Whose world that is only the driver knows: a server has real
// processes, a worker has a model. All that the page shows comes from the driver, as one state after the other.
//
// A driver has these functions of the state that is shown. Each throws what is wrong, and the page says that where the
// hand is:
//
//   step(s, line)  does a step
//   rest(s)        does all that is planned
//   fork(s, n)     tells the story anew, up to its step n
//   back(s)        comes back to the plan that was left
//   again(s)       tells the story with what helps
//   end(s)         ends the story, where a state has in ends what that does
//   picture(s)     the picture of the story, as SVG

import { $, element, keyed, tell, text } from "./dom.js";
import { idle, stage } from "./stage.js";
import { hand } from "./hand.js";
import { clock, details, picture, time } from "./time.js";

// page makes the page of a driver. Its show(state, another) shows a state; undefined: no world, or another that comes.
export function page(driver) {
  let state; // of the world that is shown
  stage($("poster")).show(idle("etcd", "client1", "client2"), 0, false);
  const scene = stage($("scene"));
  const acts = hand($("scene"), (step) => driver.step(state, step));
  const flow = time(scene, (past) => state && acts.show(state, past));
  const draw = picture(driver.picture);
  const back = (n) => tell($("message"), () => driver.fork(state, n));
  details();
  lead(() => state, driver);
  theme();

  return function show(s, another) {
    const first = !state;
    const before = state;
    state = s;
    $("intro").hidden = Boolean(s) || Boolean(another);
    $("loading").hidden = Boolean(s) || !another;
    $("world").hidden = $("drawers").hidden = !s;
    document.documentElement.classList.toggle("told", Boolean(s));
    if (!s) return;
    showWords(s);
    if (first) begin(s);
    flow.take(s, first);
    acts.show(s, flow.past());
    showBelow(s, back);
    draw(s);
    const told = before ? s.frames.slice(before.frames.length).map((f) => f.text) : [];
    if (told.length) $("live").textContent = told.join(". ");
  };
}

// usable reports whether a click is meant for a button that can do something, and is not the second one of a double click.
export const usable = (e) => e.target.closest("button")?.getAttribute("aria-disabled") !== "true" && e.detail < 2;

function lead(now, driver) {
  $("lead").addEventListener("click", (e) => {
    const does = { rest: driver.rest, back: driver.back, again: driver.again, end: driver.end }[e.target.closest("button")?.dataset.key];
    if (does && usable(e)) tell($("guide-trouble"), () => does(now()));
  });
}

function theme() {
  const root = document.documentElement;
  $("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
}

function begin(s) {
  document.title = "fencelab: " + s.title;
  for (const d of document.querySelectorAll("#below details")) d.open = false;
  for (const hand of $("scene").querySelectorAll(".hand")) hand.replaceChildren(); // of another world
  $("live").textContent = "";
  $("title").focus({ preventScroll: true });
  scrollTo({ top: 0 });
}

function showWords(s) {
  $("world").dataset.phase = s.phase;
  $("world").dataset.steps = s.steps.length;
  $("world").dataset.events = s.events;
  text($("title"), s.title);
  text($("about"), s.variant + ": " + s.about);
  $("refused").hidden = !s.refused;
  text($("refused"), s.refused ? s.refused.join(", ") + ": no token to show, as the lock gives none. The storage wants tokens, and refuses all their writes. Choose another way to take the lock, or fencing off." : "");
  $("verdict").className = s.verdict.tone;
  text($("pill"), s.verdict.name ? s.verdict.name + (s.verdict.so_far ? " so far" : "") : "not begun");
  text($("fate"), s.verdict.fate);
}

function showBelow(s, back) {
  keyed($("findings"), s.verdict.why, (f) => f, () => element("li"), text);
  const [lesson, helps] = $("lesson").querySelectorAll("p");
  text(lesson, s.lesson);
  text(helps, s.helps && "What helps: " + s.helps);
  $("lesson").hidden = !s.lesson;
  const rows = s.frames.filter((f) => f.text).map((f, i) => ({ ...f, i }));
  keyed($("rows"), rows, (f) => String(f.i), () => element("li"), (e, f) => {
    e.className = f.harm ? "bad" : "";
    text(e, clock(s, f, 3) + f.text);
  });
  const steps = s.steps.map((step, i) => ({ step, i }));
  keyed($("steps"), steps, (x) => "step " + x.i, ({ i }) => newStep(i, back), (e, x) => {
    text(e.querySelector("code"), x.step);
    e.querySelector("button").setAttribute("aria-label", "go back to before it: step " + (x.i + 1) + ", " + x.step);
    e.className = s.phase === "busy" && x.step === s.doing ? "doing" : "";
  });
  $("told").hidden = steps.length === 0;
}

function newStep(i, back) {
  const button = element("button", { type: "button", textContent: "go back to before it" });
  button.dataset.back = i;
  button.addEventListener("click", () => back(i));
  return element("li", {}, element("code"), " ", button);
}
