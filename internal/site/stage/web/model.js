// The driver of worlds of the model. Where a person stands is a path of steps, and the address has it.

import { $, element, tell, text } from "./dom.js";
import { page } from "./page.js";
import { answers } from "./answers.js";
import { search } from "./search.js";

const model = answers();
let catalog; // worlds.json
let place; // where the person stands: a chapter, one of its variants, the path, and the plan from the beginning on
let shown; // the state that is shown
let turn = Promise.resolve(); // of the last change: one comes after the other

// goes reports whether a path goes as planned, and maybe on after that.
const goes = (path, plan) => path.every((step, i) => i >= plan.length || step === plan[i]);
const common = (path, plan) => path.slice(0, path.findIndex((step, i) => step !== plan[i]));
const ends = ({ path, plan }) => path.length === plan.length && goes(path, plan);
const walk = (path) => change((p) => ({ ...p, path: path(p) }));

const show = page({
  step: (_, line) => walk((p) => [...p.path, line]),
  rest: () => walk((p) => p.plan),
  fork: (_, n) => walk((p) => p.path.slice(0, n)),
  back: () => walk((p) => common(p.path, p.plan)),
  again: () => change((p) => at(p.chapter, helping(p))),
  picture: async (s) => s.picture,
});

const look = search({
  place: () => ({ world: place.variant.world, path: place.path, name: place.chapter.name + "/" + place.variant.name }),
  // follow plays a story from where the person stands.
  follow: (path) => {
    const from = goes(place.path, path) ? shown.frames.length - 1 : 0;
    return change((p) => ({ ...p, path, plan: path }), { from });
  },
  step: (line) => walk((p) => [...p.path, line]),
  // mark shows the state with marks on its choices, by their steps.
  mark: (marks) => shown && show((shown = { ...shown, marks })),
});

// change goes to another place, once what came before is done.
function change(to, { from, replace } = {}) {
  turn = turn.catch(() => {}).then(() => go(to(place), from, replace));
  return turn;
}

async function go(to, from, replace) {
  const kept = goes(to.path, to.plan);
  const plan = kept ? to.plan.slice(to.path.length) : [];
  const state = await model.ask({ asks: "state", world: to.variant.world, path: to.path, plan, ends: ends(to), abouts: catalog.abouts[to.chapter.service] });
  if (place?.variant !== to.variant) show(undefined, true);
  place = to;
  const address = link(to);
  if (location.hash !== address) history[replace ? "replaceState" : "pushState"](null, "", address);
  const helps = helping(to);
  shown = {
    ...state, id: address, phase: "waiting", timeless: true, from, now: 0,
    title: to.chapter.title, variant: to.variant.name, lesson: to.chapter.lesson, helps: to.chapter.helps,
    steps: to.path, plan, back: !kept, events: to.path.length ? state.frames.length - 1 : 0,
    verdict: to.path.length ? state.verdict : { ...state.verdict, name: "", tone: "", fate: "" },
    again: helps && { words: "The same story with what helps", asks: "What helps here: " + helps.about + "." },
    goOn: to.variant.verdict === "safe" ? "The search tells whether another story does harm." : "Go on as you like.",
  };
  show(shown);
  delete shown.from;
  look.moved(shown);
  showFile(shown);
}

// at is the beginning of a variant's story.
const at = (chapter, variant) => ({ chapter, variant, path: [], plan: variant.plan });

// helping is another variant of a chapter, whose story ends well; undefined: the model has none.
const helping = ({ chapter, variant }) => chapter.variants.find((v) => v !== variant && v.verdict === "safe");

// link is the address of a place, and found the place of an address. A step is written with + for spaces.
function link(p) {
  const written = (step) => encodeURIComponent(step).replaceAll("%20", "+").replaceAll("%3A", ":").replaceAll("%3D", "=");
  return "#" + [p.chapter.name + "/" + p.variant.name, ...p.path.map(written)].join(";");
}

function found(address) {
  const [name, ...steps] = address.slice(1).split(";");
  const [chapter, variant] = name.split("/");
  const c = catalog.scenarios.find((c) => c.name === chapter);
  const v = variant ? c?.variants.find((v) => v.name === variant) : c?.variants[0];
  if (!v) throw new Error("The model has no world " + decodeURIComponent(name) + ". Choose one of the list below.");
  return { ...at(c, v), path: steps.map((step) => decodeURIComponent(step.replaceAll("+", " "))) };
}

// locate shows what the address names.
async function locate() {
  if (location.hash.length > 1) return change(() => found(location.hash), { replace: true });
  place = shown = undefined;
  show(undefined);
}

function showFile(s) {
  $("real").hidden = !s.file;
  text($("file"), s.file);
  URL.revokeObjectURL($("yaml").href);
  $("yaml").href = URL.createObjectURL(new Blob([s.file], { type: "application/yaml" }));
  text($("lacks"), "The model leaves out " + s.lacks + ".");
}

const option = (v) => element("option", { value: v.name, textContent: v.title ?? v.name });

function showVariants() {
  $("variant").replaceChildren(...catalog.scenarios.find((c) => c.name === $("name").value).variants.map(option));
}

function menu() {
  const groups = Map.groupBy(catalog.scenarios, (c) => c.service);
  $("name").replaceChildren(...[...groups].map(([service, list]) => element("optgroup", { label: service }, ...list.map(option))));
  showVariants();
  $("name").addEventListener("change", showVariants);
  $("scenario").addEventListener("submit", (e) => {
    e.preventDefault();
    const chapter = catalog.scenarios.find((c) => c.name === $("name").value);
    tell($("menu-trouble"), () => change(() => at(chapter, chapter.variants.find((v) => v.name === $("variant").value))));
  });
  const first = catalog.scenarios[0];
  $("begin").addEventListener("click", () => tell($("begin-trouble"), () => change(() => at(first, first.variants[0]))));
  $("begin").disabled = false;
}

$("copy").addEventListener("click", async () => {
  await navigator.clipboard.writeText($("file").textContent);
  text($("copied"), "It is copied.");
});
$("more-worlds").addEventListener("click", (e) => {
  e.preventDefault(); // the address is a world's
  $("more").scrollIntoView();
  $("load").open = true;
  $("name").focus({ preventScroll: true });
});
addEventListener("hashchange", () => tell($("message"), locate));
if (location.hash.length > 1) show(undefined, true);
tell($("message"), async () => {
  try {
    catalog = await (await fetch(new URL("worlds.json", import.meta.url))).json();
    menu();
    await locate();
  } catch (e) {
    show(undefined);
    throw e;
  }
});
