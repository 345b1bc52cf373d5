// What the stage is drawn with.

import { drawing } from "./dom.js";

// hue is the class of a tenure's colour, as in the pictures of stories.
export const hue = (tenure) => (tenure > 0 ? "t" + (((tenure - 1) % 4) + 1) : "t0");

const path = (name, d) => drawing("path", { class: name, d });

// face is a client's: what it looks like, its classes say. Its eyes are open, closed or crossed, and its mouth says what
// became of its work. The ring around it is its lease.
export function face() {
  const svg = drawing("svg", { class: "face", viewBox: "-60 -60 120 120", "aria-hidden": "true" });
  svg.append(
    drawing("circle", { class: "track", r: 52 }),
    drawing("circle", { class: "ring", r: 52, pathLength: 100, transform: "rotate(-90)" }),
    drawing("circle", { class: "head", r: 42 }),
    drawing("circle", { class: "veil", r: 42 }),
    drawing("g", { class: "open" }, drawing("circle", { cx: -15, cy: -8, r: 5 }), drawing("circle", { cx: 15, cy: -8, r: 5 })),
    path("closed", "M-23 -8q8 6 16 0M7 -8q8 6 16 0"),
    path("crossed", "M-21 -14l12 12m0 -12l-12 12M9 -14l12 12m0 -12l-12 12"),
    path("smile", "M-15 13q15 13 30 0"),
    path("flat", "M-11 17h22"),
    drawing("ellipse", { class: "aghast", cx: 0, cy: 19, rx: 8, ry: 10 }),
    drawing("g", { class: "sad" }, path("mouth", "M-14 23q14 -13 28 0"), path("tear", "M21 2q7 9 0 12q-7 -3 0 -12z")),
    path("key", "M34 30a9 9 0 1 1 .1 0M40 34l14 14m-5 -5l5 -5m-10 0l4 -4"),
    thought(),
    fault("partition", -44, -44, "M-9 0h5M4 0h5M-4 6l8 -12"),
    fault("deafen", -54, 2, "M-3 7c5 0 4 -5 5 -7s4 -3 3 -7a5 5 0 0 0 -10 1M-8 -7l15 14"),
    fault("delay", -44, 46, "M-5 -8h10l-10 16h10z"),
  );
  return svg;
}

// thought is the lock in a client's head, which is nowhere else.
const thought = () => drawing("g", { class: "thought" },
  drawing("circle", { cx: 29, cy: -27, r: 3 }), drawing("ellipse", { cx: 46, cy: -47, rx: 20, ry: 15 }),
  path("bow", "M41 -47v-4a5 5 0 0 1 10 0v4"), drawing("rect", { class: "body", x: 38, y: -47, width: 16, height: 11, rx: 2 }));

// fault is the sign of a fault of a client's network, at the ring: of the way to the lock service above, of its ears, and
// of the way to the storage below.
const fault = (name, x, y, d) => drawing("g", { class: "fault " + name, transform: `translate(${x} ${y})` }, drawing("circle", { r: 15 }), path("sign", d));

// turn has a ring show what is left of a lease, from 0 to 1.
export function turn(e, left) {
  e.querySelector(".ring").style.strokeDashoffset = String(100 * (1 - left));
}

export const padlock = () => drawing("svg", { class: "figure", viewBox: "0 0 48 56", "aria-hidden": "true" },
  path("bow", "M13 26V16a11 11 0 0 1 22 0v10"), drawing("rect", { class: "body", x: 5, y: 25, width: 38, height: 28, rx: 6 }), path("hole", "M24 35v8"));

export const cylinder = () => drawing("svg", { class: "figure", viewBox: "0 0 48 56", "aria-hidden": "true" },
  path("body", "M4 11v34c0 5 9 8 20 8s20 -3 20 -8V11"), drawing("ellipse", { class: "lid", cx: 24, cy: 11, rx: 20, ry: 8 }), path("band", "M4 24c0 5 9 8 20 8s20 -3 20 -8M4 36c0 5 9 8 20 8s20 -3 20 -8"));

// server is a node of a lock service.
export const server = () => drawing("svg", { class: "server", viewBox: "0 -12 44 44", "aria-hidden": "true" },
  path("crown", "M12 -1v-10l5 4 5 -5 5 5 5 -4v10z"), drawing("rect", { class: "body", x: 2, y: 3, width: 40, height: 26, rx: 5 }),
  path("slots", "M9 12h15M9 20h15"), drawing("circle", { class: "lamp", cx: 33, cy: 16, r: 4 }), path("crossed", "M10 4l24 24m0 -24l-24 24"));

// short is a token where there is little room: of a long one the end.
export const short = (token) => (token.length > 12 ? "…" + token.slice(-6) : token);
