// The time of a story: which of its frames the stage shows, and the picture beside it.

import { $, say, still, text } from "./dom.js";

const pace = 650; // milliseconds from one frame to the next, however long that took

// clock is when a frame's row happened, as it begins a sentence. A model has no time.
export const clock = (s, f, digits) => (s.timeless ? "" : (f.at / 1000).toFixed(digits) + " s: ");

const wrong = (f) => f.moves && (f.harm || f.messages.at(-1).way === "refused");

// told is the frame that the caption tells of: what the arrow shows, where all has happened and nothing moves.
function told(frames, at) {
  const f = frames[at];
  if (at < frames.length - 1 || f.moves || f.harm || !f.messages.some((m) => m.harm || m.way === "refused")) return f;
  return frames.findLast(wrong) ?? f;
}

// time makes what goes through the frames of a stage. moved(past) is called when another frame is shown.
export function time(stage, moved) {
  let state;
  let at = 0; // the frame that is shown
  let following = true; // all that has happened is shown, one frame after the other
  let timer;
  let offset = 0; // from this page's clock to the run's

  const last = () => state.frames.length - 1;
  const frame = () => state.frames[at];
  const over = () => state.phase === "over" || state.phase === "failed";
  const now = () => (at === last() && !over() ? offset + performance.now() : frame().at);

  function show(moves) {
    stage.show(frame(), now(), moves);
    const f = frame();
    caption(told(state.frames, at), f);
    $("slider").max = last();
    $("slider").value = at;
    const place = "event " + at + " of " + last();
    $("slider").setAttribute("aria-valuetext", place + (f.text ? ": " + f.text : ""));
    text($("place"), place);
    $("scene").classList.toggle("past", !following);
    $("scene").dataset.frame = at;
    $("now").hidden = following;
    text($("play"), timer && !following ? "Pause" : "Play");
    mark(at);
    moved(!following);
  }

  function caption(main, f) {
    const skips = f.skips ? ". Tokens only have to grow: numbers can be left out." : "";
    const then = main === f ? "" : "; then: " + f.text;
    text($("caption"), main.text ? clock(state, main, 1) + main.text + skips + then : "Nothing has happened yet.");
    $("caption").className = main.harm ? "bad" : main.tone === "bad" ? "fault" : main.tone; // red is harm alone
  }

  function go(to, moves) {
    at = Math.max(0, Math.min(to, last()));
    show(moves);
  }

  function stop() {
    clearTimeout(timer);
    timer = undefined;
  }

  // run shows the frames that come, until the last.
  function run() {
    stop();
    if (at >= last()) {
      following = true;
      return show(false);
    }
    const next = () => {
      timer = undefined;
      const to = following && last() - at > 8 ? last() : at + 1; // nobody waits for long to see what is now
      if (to >= last()) following = true;
      go(to, true);
      if (at < last()) timer = setTimeout(next, pace / Number($("speed").value));
      else show(false);
    };
    if (following) return next();
    timer = setTimeout(next, pace / Number($("speed").value));
    show(false);
  }

  // replay shows all frames from one on, each for its time.
  function replay(from) {
    at = Math.min(from, last());
    following = false;
    run();
  }

  const leave = (to) => {
    stop();
    following = to >= last();
    go(to, to === at + 1);
  };
  $("slider").addEventListener("input", () => leave(Number($("slider").value)));
  $("earlier").addEventListener("click", () => leave(at - 1));
  $("later").addEventListener("click", () => leave(at + 1));
  $("now").addEventListener("click", () => {
    leave(last());
    $("slider").focus({ preventScroll: true });
  });
  $("play").addEventListener("click", () => {
    if (timer) {
      stop();
      return show(false);
    }
    replay(at >= last() ? 0 : at);
  });
  setInterval(() => state && at === last() && !over() && stage.tick(frame(), now()), 100);

  return {
    // take takes the frames of a state. first: another world is shown.
    take(s, first) {
      state = s;
      offset = s.now - performance.now();
      if (first) {
        stop();
        following = true;
        at = last();
      }
      at = Math.min(at, last());
      if (s.from !== undefined && !still()) return replay(s.from);
      if (!following) return show(false);
      if (still()) at = last();
      if (timer) return; // the next frame comes
      if (at >= last()) {
        at = last();
        return show(false);
      }
      run();
    },
    past: () => !following,
  };
}

// picture keeps the picture of a world up to date. drawn(s) is that of a state.
export function picture(drawn) {
  let asked = 0; // the last one that was asked for
  return async (s) => {
    const mine = ++asked;
    const key = s.id + " " + s.events + " " + s.verdict.name + " " + s.phase;
    if ($("picture").dataset.key === key) return;
    if (s.events === 0) return $("picture").replaceChildren();
    try {
      const svg = await drawn(s);
      if (mine !== asked) return;
      const focused = $("picture").contains(document.activeElement);
      $("picture").innerHTML = svg;
      $("picture").dataset.key = key;
      $("picture").dataset.events = s.events;
      for (const event of events()) event.setAttribute("aria-label", event.querySelector("title").textContent);
      if (focused) $("slider").focus({ preventScroll: true });
      mark(Number($("scene").dataset.frame));
    } catch (e) {
      if (mine === asked && e.status) say($("message"), e.message);
    }
  };
}

const events = () => [...$("picture").querySelectorAll(".event")];

// mark shows in the picture where the stage is. The picture has a row for each frame but the first.
function mark(at) {
  const list = events();
  list.forEach((e, i) => {
    e.classList.toggle("future", i >= at);
    e.classList.toggle("present", i === at - 1);
  });
  const now = list[at - 1];
  if (!now) return;
  const [box, view] = [now.getBoundingClientRect(), $("story").getBoundingClientRect()];
  const end = at === list.length ? $("picture").getBoundingClientRect().bottom : box.bottom + 40;
  if (box.top < view.top || end > view.bottom) $("story").scrollTop += end - view.bottom;
}

// details shows what is known of an event that has the focus. The arrow keys go from one to the next.
export function details() {
  $("picture").addEventListener("focusin", (e) => {
    const event = e.target.closest(".event");
    $("details").hidden = !event;
    if (event) $("details").textContent = event.getAttribute("aria-label");
  });
  $("picture").addEventListener("focusout", () => ($("details").hidden = true));
  $("picture").addEventListener("click", (e) => {
    const event = e.target.closest(".event");
    if (!event) return;
    event.focus({ preventScroll: true });
    $("slider").value = events().indexOf(event) + 1;
    $("slider").dispatchEvent(new Event("input"));
  });
  $("picture").addEventListener("keydown", (e) => {
    const move = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[e.key];
    const event = e.target.closest(".event");
    if (!move || !event) return;
    const all = events();
    all[all.indexOf(event) + move]?.focus();
    e.preventDefault();
  });
}
