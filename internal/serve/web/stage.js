// The stage draws a frame: all actors as they are at a moment of a story, and what passes between them. It knows
// neither a server nor a model. What a person can do with a client belongs into the element ".hand" of the client.

import { drawing, element, keyed, text } from "./dom.js";
import { face, padlock, cylinder, server, hue, short, turn } from "./figures.js";
import { messages } from "./messages.js";

// stage makes a stage in a root. show(frame, now, moves) draws a frame: now is the time that the leases have, in
// milliseconds of the run; moves: a message travels.
export function stage(root) {
  const service = element("section", { className: "actor service" });
  const clients = element("div", { className: "clients" });
  const storage = element("section", { className: "actor storage" });
  service.dataset.actor = "lock service";
  storage.dataset.actor = "storage";
  service.append(padlock(), element("div", { className: "who" }), element("div", { className: "locks" }), element("ul", { className: "nodes" }));
  storage.append(cylinder(), element("div", { className: "who" }), element("p", { className: "gate" }), element("div", { className: "values" }));
  const wires = drawing("svg", { class: "air wires", "aria-hidden": "true" });
  const air = drawing("svg", { class: "air", "aria-hidden": "true" });
  root.replaceChildren(wires, service, clients, storage, air);
  let shown;
  const sizes = new ResizeObserver(() => shown && messages(root, [wires, air], shown, false));
  for (const e of [root, service, clients, storage]) sizes.observe(e);
  return {
    show(frame, now, moves) {
      shown = frame;
      root.classList.toggle("harm", frame.harm || frame.storage.values.some((v) => v.lost));
      showService(service, frame.service);
      keyed(clients, frame.clients, (c) => c.name, newClient, (e, c) => showClient(e, c, now));
      clients.dataset.count = frame.clients.length;
      showStorage(storage, frame);
      messages(root, [wires, air], frame, moves && frame.moves);
    },
    tick: (frame, now) => [...clients.children].forEach((e, i) => frame.clients[i] && lease(e, frame.clients[i], now)),
  };
}

const states = { running: "", paused: "stands still", dead: "is dead" };

function showService(e, s) {
  e.className = "actor service " + s.state;
  const free = s.locks.every((l) => l.holders.length === 0);
  e.classList.toggle("free", free);
  fill(e.querySelector(".who"), element("h3", { textContent: s.name }), element("p", { textContent: ["lock service", states[s.state], s.nodes.length ? "" : s.note].filter(Boolean).join("; ") }));
  const locks = s.locks.length ? s.locks : [{ name: "the lock", holders: [], queue: [] }];
  fill(e.querySelector(".locks"), ...locks.map((l) => {
    const held = l.holders.map((h) => element("span", { className: "badge " + hue(h.tenure), textContent: (h.client || "somebody") + (h.token ? " · token " + short(h.token) : "") }));
    const line = element("p", {}, element("b", { textContent: l.name }), held.length ? " is held by " : " is free ", ...held);
    if (l.queue.length) line.append(element("span", { className: "queue", textContent: l.queue.join(", ") + (l.queue.length > 1 ? " wait" : " waits") }));
    return line;
  }));
  showNodes(e.querySelector(".nodes"), s.nodes);
}

const doings = { ...states, isolated: "is cut off" };

// showNodes shows the nodes of a lock service that has several: what each does, and which one leads.
function showNodes(list, nodes) {
  list.hidden = nodes.length === 0;
  keyed(list, nodes, (n) => n.name, () => element("li", {}, server(), element("p", {}, element("b"), " ", element("span"))), (e, n) => {
    e.className = n.state + (n.leads ? " leads" : "");
    text(e.querySelector("b"), n.name);
    text(e.querySelector("span"), [n.leads && "leads", doings[n.state]].filter(Boolean).join(", "));
  });
}

// fill has a parent have these children, where they are others than before.
function fill(parent, ...children) {
  const next = element("div", {}, ...children);
  if (parent.innerHTML !== next.innerHTML) parent.replaceChildren(...children);
}

function newClient(c) {
  const e = element("section", { className: "actor client" }, face(), element("div", { className: "is" },
    element("h3", { textContent: c.name }), element("p", { className: "badge" }), element("p", { className: "fate" }), element("p", { className: "lease" }), element("p", { className: "note" })),
  element("div", { className: "hand" }));
  e.dataset.actor = e.dataset.client = c.name;
  e.setAttribute("aria-label", c.name);
  return e;
}

function showClient(e, c, now) {
  e.className = ["actor client", c.state, hue(c.holds || c.believes), c.holds ? "holds" : "", mistaken(c) ? "mistaken" : "", c.waits && !c.holds ? "waits" : "", ...c.network, c.harm].filter(Boolean).join(" ");
  text(e.querySelector(".badge"), claim(c));
  text(e.querySelector(".fate"), harms[c.harm] ?? "");
  const said = [states[c.state] && c.name + " " + states[c.state], ...c.network.map((cause) => networks[cause]), c.state === "running" ? c.note : ""].filter(Boolean);
  text(e.querySelector(".note"), said.join("; "));
  lease(e, c, now);
}

const harms = { did: "has done harm", suffered: "harm was done to it" };

const networks = { partition: "its network is cut", deafen: "it hears no answers", delay: "what it sends waits in the network" };

const mistaken = (c) => c.believes > 0 && !c.holds;

// claim says whose the lock is, by the lock service's account and by the client's own.
function claim(c) {
  const token = c.token ? " · token " + short(c.token) : "";
  if (c.holds && c.believes) return "holds the lock" + token;
  if (c.holds && c.state === "dead") return "its lock is not free yet" + token;
  if (c.holds) return (c.waits ? "has the lock, and does not know" : "gives up the lock") + token;
  if (mistaken(c)) return "only believes it holds the lock" + token;
  return c.waits ? "waits for the lock" : "has no lock";
}

// left is how much of its lease a client has, from 0 to 1.
function left(c, now) {
  if (!c.holds) return 0;
  return c.still === null || !c.ttl ? 1 : Math.max(0, 1 - (now - c.still) / c.ttl);
}

// lease shows how much of a lease is left: as a ring, and in words.
function lease(e, c, now) {
  turn(e, left(c, now));
  text(e.querySelector(".lease"), leaseWords(c, now));
}

// ends say why a tenure is over in which a client believes.
const ends = { expired: "its lease is over", revoked: "its lock was taken away", released: "its lock was released" };

function leaseWords(c, now) {
  const seconds = (ms) => (ms / 1000).toFixed(1) + " s";
  if (!(c.holds || c.believes)) return "";
  if (!c.holds) return (ends[c.ended] ?? "its lock is gone") + ", and nobody told it";
  if (!c.ttl) return "";
  if (c.still === null) return "lease: " + c.ttl / 1000 + " s from each renewal";
  const rest = c.ttl - (now - c.still);
  return rest > 0 ? "no renewal: ends in " + seconds(rest) : "no renewal for " + seconds(now - c.still);
}

function showStorage(e, frame) {
  const s = frame.storage;
  e.className = "actor storage " + s.state + (s.checks ? " checks" : "");
  fill(e.querySelector(".who"), element("h3", { textContent: "storage" }), element("p", { textContent: states[s.state] }));
  const marks = s.marks.map((m) => (s.marks.length > 1 ? m.lock + " " : "") + short(m.mark)).join(", ");
  const checks = !s.checks ? "checks no tokens: all writes pass" : marks ? "mark " + marks + ", the highest token seen: refuses lower ones" : "checks tokens: refuses those below the highest seen";
  text(e.querySelector(".gate"), checks + (s.refused ? "; refused so far: " + s.refused : ""));
  fill(e.querySelector(".values"), ...(s.values.length ? s.values.map((v) => value(v)) : [element("p", { className: "empty", textContent: "holds nothing yet" })]));
}

function value(v) {
  const now = element("span", { className: "badge " + hue(v.tenure), textContent: v.value });
  const e = element("p", {}, element("b", { textContent: v.key }), " = ", now);
  if (v.client) e.append(" by " + v.client);
  if (v.lost) e.append(element("span", { className: "lost" }, element("s", { textContent: v.lost.value }), (v.lost.client ? " by " + v.lost.client : "") + " is gone"));
  return e;
}

// idle is a stage on which nothing has happened.
export const idle = (service, ...names) => ({
  service: { name: service, state: "running", nodes: [], note: "", locks: [] },
  clients: names.map((name) => ({ name, state: "running", network: [], holds: 0, believes: 0, ended: "", token: "", waits: false, harm: "", note: "", ttl: 0, still: null })),
  storage: { state: "running", checks: false, refused: 0, values: [], marks: [] }, messages: [], harm: false,
});
