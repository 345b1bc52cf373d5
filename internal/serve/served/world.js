// A world of gcsim: how it is begun, how it is watched, and its address.

import { $, ask, say, tell } from "./dom.js";

let source; // of the states of the world that is shown
let shows; // what is done with a state; undefined: no world is shown
let lost = false; // the server does not answer
let opening = false; // a world is being begun: a second click begins no other one

// connect says what is done with each state, and with a page that shows no world.
export function connect(show) {
  shows = show;
  addEventListener("popstate", () => tell($("message"), locate));
}

// open begins a world, and shows it.
export async function open(wish, note = "") {
  if (opening) return;
  opening = true;
  try {
    const answer = await ask("POST", "/api/worlds", wish);
    const { id } = await answer.json();
    if (note) history.replaceState(null, "", "/w/" + id + location.hash);
    else history.pushState(null, "", "/w/" + id);
    watch(id);
    say($("message"), note);
  } finally {
    opening = false;
  }
}

// watch shows a world as it is, and as it becomes.
function watch(id) {
  if (source) source.close();
  shows(undefined, true);
  const mine = (source = new EventSource("/api/worlds/" + id + "/events"));
  mine.addEventListener("message", (e) => {
    if (mine !== source) return;
    if (lost) say($("message"), "");
    lost = false;
    const s = JSON.parse(e.data);
    const address = link(s);
    if (location.pathname + location.hash !== address) history.replaceState(null, "", address);
    shows(s);
  });
  mine.addEventListener("error", () => {
    if (mine === source) again(id, mine);
  });
}

// again looks whether a world is still there. A browser goes on asking while nobody
// answers, and gives up where the answer is no stream.
async function again(id, mine) {
  try {
    const answer = await fetch("/api/worlds/" + id + "/picture?events=0");
    if (mine !== source) return;
    if (answer.status !== 404) {
      if (mine.readyState === EventSource.CLOSED) watch(id);
      return;
    }
  } catch {
    if (mine !== source) return;
    lost = true;
    say($("message"), "gcsim does not answer. This page goes on as soon as it does.");
    if (mine.readyState === EventSource.CLOSED) setTimeout(() => mine === source && again(id, mine), 1000);
    return;
  }
  mine.close();
  lost = false;
  const wish = wished();
  if (!wish) {
    source = undefined;
    shows(undefined);
    return say($("message"), "This world is not there any more: its pages were closed, or gcsim was started anew.");
  }
  await tell($("message"), () => open(wish, "This world was not there any more. Its story is told anew, in a new world."));
}

// locate shows the world that the address names.
export async function locate() {
  const id = location.pathname.match(/^\/w\/([^/]+)$/)?.[1];
  if (id) return watch(id);
  if (source) source.close();
  source = undefined;
  shows(undefined);
}

// link is an address that has what is needed to tell the story anew.
function link(s) {
  const parts = new URLSearchParams();
  if (s.challenge) parts.set("challenge", s.challenge.id);
  if (s.story) {
    parts.set("play", s.steps.length);
    parts.set("variant", s.variant);
    const bytes = new TextEncoder().encode(s.story);
    parts.set("story", btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", ""));
  }
  return "/w/" + s.id + "#" + parts;
}

// wished is the world that the address asks for; undefined where it asks for none.
function wished() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const wish = {};
  if (parts.get("challenge")) wish.challenge = parts.get("challenge");
  if (parts.get("story")) {
    const text = atob(parts.get("story").replaceAll("-", "+").replaceAll("_", "/"));
    wish.story = new TextDecoder().decode(Uint8Array.from(text, (c) => c.charCodeAt(0)));
    wish.variant = parts.get("variant") || "";
    wish.play = Number(parts.get("play")) || 0;
  }
  return Object.keys(wish).length ? wish : undefined;
}
