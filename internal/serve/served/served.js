// The driver of worlds of real processes: it asks the server, which sends one state after the other.

import { $, ask, tell, text } from "./dom.js";
import { page } from "./page.js";
import { connect, locate, open } from "./world.js";
import { start } from "./menu.js";

let state; // of the world that is shown, as the server sent it

const post = (s, what, body) => ask("POST", "/api/worlds/" + s.id + "/" + what, body);

const show = page({
  step: (s, step) => post(s, "steps", { step }),
  rest: (s) => post(s, "rest"),
  fork: (_, n) => open({ ...story(), play: n }),
  back: (s) => open(s.back),
  again: () => open({ ...story(), fenced: true }),
  end: (s) => post(s, "end"),
  picture: async (s) => (await ask("GET", "/api/worlds/" + s.id + "/picture?events=" + s.events)).text(),
});

// story is what the world tells, as a wish for another one.
function story() {
  const wish = state.story ? { story: state.story, variant: state.variant } : {};
  if (state.challenge) wish.challenge = state.challenge.id;
  return wish;
}

const goesOn = (s) => s.phase === "waiting" || s.phase === "busy";

const fencing = { words: "Tell it with tokens checked", asks: "What if the storage checks tokens?" };

connect((s, another) => {
  state = s;
  show(s && {
    ...s,
    variant: s.variant === "by-hand" ? "told by hand" : s.variant,
    title: s.challenge ? "Challenge: " + s.challenge.title : s.title,
    lesson: s.challenge && !s.challenge.solved ? "" : s.lesson,
    again: s.fenced || s.challenge ? undefined : fencing,
    ends: s.steps.length > 0 && goesOn(s) ? "It is judged, and its processes end." : "",
    goOn: "Go on, or end the story.",
  }, another);
  if (!s) return;
  showChallenge(s);
  $("yaml").href = "/api/worlds/" + s.id + "/scenario.yaml";
  $("history").href = "/api/worlds/" + s.id + "/history.jsonl";
  $("yaml").hidden = !s.story;
  $("any").hidden = s.phase === "over" || s.phase === "failed";
});

function showChallenge(s) {
  $("challenge").hidden = !s.challenge;
  if (!s.challenge) return;
  text($("task"), s.challenge.task);
  text($("hint"), s.challenge.hint);
  $("chapter").href = s.challenge.chapter;
  $("chapter").hidden = !s.challenge.chapter;
  $("solved").hidden = !s.challenge.solved;
}

$("solution").addEventListener("click", () => tell($("message"), () => open({ challenge: state.challenge.id, solution: true })));
$("typed").addEventListener("submit", (e) => {
  e.preventDefault();
  tell($("typed-trouble"), () => post(state, "steps", { step: $("line").value }));
});

tell($("message"), async () => {
  await start();
  await locate();
});
