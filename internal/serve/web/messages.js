// Messages in the air between the actors of a stage.

import { drawing, still } from "./dom.js";
import { hue, short } from "./figures.js";

// messages draws those of a frame in the air, and wires behind the actors. moves: the last message travels.
export function messages(root, [wires, air], frame, moves) {
  const space = root.getBoundingClientRect();
  for (const svg of [wires, air]) svg.setAttribute("viewBox", `0 0 ${space.width} ${space.height}`);
  const list = frame.messages.map((m) => message(root, space, m)).filter(Boolean);
  wires.replaceChildren(...frame.clients.flatMap((c) => ["lock service", "storage"].map((server) => wire(root, space, c.name, server))));
  air.replaceChildren(...list);
  if (!moves || still() || !list.length) return;
  const letter = list.at(-1).querySelector(".letter");
  letter.animate([{ translate: `0px ${-letter.dataset.dy}px` }, { translate: "0px 0px" }], { duration: 550, easing: "ease-in-out" });
}

function box(root, space, actor) {
  const e = [...root.querySelectorAll("[data-actor]")].find((e) => e.dataset.actor === actor);
  if (!e) return undefined;
  const r = e.getBoundingClientRect();
  return { left: r.left - space.left, right: r.right - space.left, top: r.top - space.top, bottom: r.bottom - space.top };
}

// way is from where to where a message goes: straight up or down from its client. A short way is at the client's left, so
// that its letter has room beside it.
function way(from, to) {
  const narrow = from.right - from.left < to.right - to.left ? from : to;
  const [y1, y2] = from.top > to.bottom ? [from.top, to.bottom] : [from.bottom, to.top];
  const close = Math.abs(y2 - y1) < 60;
  return { x: close ? narrow.left + 20 : (narrow.left + narrow.right) / 2, y1, y2, close };
}

// wire shows that two actors know one another.
function wire(root, space, client, server) {
  const { x, y1, y2 } = way(box(root, space, client), box(root, space, server));
  return drawing("path", { class: "wire", d: `M${x} ${y1}V${y2}` });
}

function message(root, space, m) {
  const [from, to] = [box(root, space, m.from), box(root, space, m.to)];
  if (!from || !to) return undefined;
  const goes = way(from, to);
  const { x, y1, y2 } = goes;
  const sign = Math.sign(y2 - y1);
  const end = { passes: y2 - sign * 3, refused: y2 - sign * 16, waits: (y1 + y2) / 2 }[m.way];
  const g = drawing("g", { class: ["message", m.way, m.harm ? "harm" : "", hue(m.tenure)].join(" ") });
  g.append(drawing("path", { class: "shaft", d: `M${x} ${y1}V${end}` }));
  if (m.way === "passes") g.append(drawing("path", { class: "tip", d: `M${x - 7} ${end - sign * 9}L${x} ${end}L${x + 7} ${end - sign * 9}Z` }));
  if (m.way === "refused") g.append(drawing("path", { class: "cross", d: `M${x - 8} ${end - 8}l16 16m0 -16l-16 16` }));
  g.append(letter(goes, m, space.width));
  return g;
}

// marks are what a letter says of a message beside its text.
const marks = (m) => [m.token && "token " + short(m.token), { waits: "under way", refused: "refused" }[m.way]].filter(Boolean);

// letter is what a message says: on its way in one line, or beside a short way in two.
function letter({ x, y1, y2, close }, m, width) {
  const lines = close ? [m.text, marks(m).join(" · ")].filter(Boolean) : [[m.text, ...marks(m)].join(" · ")];
  const [wide, high] = [Math.min(Math.max(...lines.map((line) => line.length)) * 7.3 + 18, width), lines.length > 1 ? 28 : 24];
  const left = Math.min(Math.max(close ? x + 12 : x - wide / 2, 1), width - wide - 1);
  const y = (y1 + y2) / 2;
  const g = drawing("g", { class: "letter" }, drawing("rect", { x: left, y: y - high / 2, width: wide, height: high, rx: 12 }),
    ...lines.map((line, i) => drawing("text", { x: left + wide / 2, y: y + 10 + 12 * i - 6 * lines.length }, line)));
  g.dataset.dy = y - y1;
  return g;
}
