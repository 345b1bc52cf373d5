// The page shows a world and asks for its steps. All that it shows of the world comes from
// the server, as one state after the other.

const $ = (id) => document.getElementById(id);
const root = document.documentElement;

$("theme").addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});

// element makes one with properties and children.
function element(name, properties = {}, ...children) {
  const e = Object.assign(document.createElement(name), properties);
  e.append(...children);
  return e;
}

// fill has a parent have these children. The focus stays on a button that is there again,
// as soon as it can be used again; where the button is gone it goes to its client's big one.
function fill(parent, ...children) {
  const focused = document.activeElement;
  if (parent.contains(focused) && focused.dataset.key) {
    parent.wants = { key: focused.dataset.key, client: focused.closest("[data-client]")?.dataset.client };
  } else if (focused !== document.body) parent.wants = undefined;
  parent.replaceChildren(...children);
  if (!parent.wants) return;
  const { key, client } = parent.wants;
  const all = [...parent.querySelectorAll("[data-key]")];
  const again = all.find((e) => e.dataset.key === key) || all.find((e) => e.dataset.stop === client);
  if (again && !again.disabled) again.focus({ preventScroll: true });
}

function say(text) {
  $("message").textContent = text;
  $("message").hidden = !text;
}

// ask sends a request. What is wrong is thrown, in the server's words.
async function ask(method, path, body) {
  let answer;
  try {
    answer = await fetch(path, { method, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Error("gcsim does not answer. Is it running?");
  }
  if (answer.ok) return answer;
  const text = await answer.text();
  let said = text;
  try {
    const problem = JSON.parse(text);
    said = problem.error || problem.detail;
  } catch {}
  throw Object.assign(new Error(said), { status: answer.status });
}

// tell does something that asks the server, and says what is wrong.
async function tell(does) {
  try {
    say("");
    await does();
  } catch (e) {
    say(e.message);
  }
}

// A link has what is needed to tell the story anew.
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

let state; // of the world that is shown
let choices = []; // the last that it had: while a step goes on they stay where they are
let source; // of its states
let offset = 0; // from this page's clock to the run's
let drawn = 0; // the last picture that was asked for
let following = true; // the picture shows all that has happened

// open begins a world, and shows it.
async function open(wish, note = "") {
  const answer = await ask("POST", "/api/worlds", wish);
  const { id } = await answer.json();
  if (note) history.replaceState(null, "", "/w/" + id + location.hash);
  else history.pushState(null, "", "/w/" + id);
  watch(id);
  if (note) say(note);
}

// watch shows a world as it is, and as it becomes.
function watch(id) {
  if (source) source.close();
  state = undefined;
  following = true;
  $("live").textContent = "";
  fill($("clients"));
  fill($("picture"));
  delete $("picture").dataset.events;
  const mine = (source = new EventSource("/api/worlds/" + id + "/events"));
  mine.addEventListener("message", (e) => {
    if (mine !== source) return;
    if (lost) {
      lost = false;
      say("");
    }
    show(JSON.parse(e.data));
  });
  mine.addEventListener("error", () => {
    if (mine === source) again(id, mine);
  });
}

let lost = false; // the server does not answer

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
    say("gcsim does not answer. This page goes on as soon as it does.");
    if (mine.readyState === EventSource.CLOSED) setTimeout(() => mine === source && again(id, mine), 1000);
    return;
  }
  mine.close();
  lost = false;
  const wish = wished();
  if (!wish) {
    source = undefined;
    $("world").hidden = true;
    $("intro").hidden = false;
    return say("This world is not there any more: its pages were closed, or gcsim was started anew.");
  }
  await tell(() => open(wish, "This world was not there any more. Its story is told anew, in a new world."));
}

// show shows a state.
function show(s) {
  const before = state;
  state = s;
  offset = s.now - performance.now();
  const address = link(s);
  if (location.pathname + location.hash !== address) history.replaceState(null, "", address);
  $("intro").hidden = true;
  $("world").hidden = false;
  $("title").textContent = s.title;
  if (!before) {
    document.title = "fencelab: " + s.title;
    for (const d of document.querySelectorAll("#menu > details, #challenge > details")) d.open = false;
    $("title").focus({ preventScroll: true });
    scrollTo({ top: 0 });
  }
  $("about").textContent = s.variant + ": " + s.about;
  $("refused").hidden = !s.refused;
  $("refused").textContent = s.refused && s.refused.join(", ") + ": no token to show, as the lock gives none. The storage wants tokens, and refuses all their writes. Choose another way to take the lock, or fencing off.";
  showChallenge(s);
  $("phase").textContent = {
    starting: "The processes start …",
    waiting: s.strayed ? "It is your turn. That was another step than the planned one, so there is no plan any more. Go on, or end the story and have it judged."
      : s.steps.length && !s.plan.length ? "It is your turn. Go on, or end the story and have it judged." : "It is your turn.",
    busy: "Going on: " + s.doing,
    over: "The story is over. Nothing of the world runs any more.",
    failed: "The story could not go on: " + s.trouble,
  }[s.phase];
  $("world").dataset.phase = s.phase;
  const can = s.phase === "waiting";
  if (can) choices = s.choices;
  if (s.phase === "over" || s.phase === "failed" || !before) choices = s.choices;
  $("plan").hidden = s.plan.length === 0 || !(can || s.phase === "busy");
  $("next").textContent = "Next: " + (s.plan[0] || "");
  $("next").disabled = $("rest").disabled = !can;
  $("end").disabled = !can || s.steps.length === 0;
  if (can && wantsNext) {
    if (document.activeElement === document.body) ($("plan").hidden ? $("phase") : $("next")).focus({ preventScroll: true });
    wantsNext = false;
  }
  $("typed").hidden = s.phase === "over" || s.phase === "failed";
  $("typed").querySelector("button").disabled = !can;
  showClients(s, can);
  const others = choices.filter((c) => !c.client);
  fill($("others").querySelector(".choices"), ...others.map((c) => button(c, c.step, can)));
  $("others").hidden = others.length === 0;
  fill($("verdict"), s.verdict.name ? "Verdict so far: " : "", element("b", { className: s.verdict.tone, textContent: s.verdict.name }));
  if (s.phase === "over") $("verdict").firstChild.textContent = "Verdict: ";
  fill($("findings"), ...s.verdict.findings.map((text) => element("li", { textContent: text })));
  showStorage(s);
  fill($("rows"), ...s.rows.map((r) => element("li", { className: r.harm ? "bad" : "", textContent: r.at + " s: " + r.text })));
  showSteps(s);
  $("yaml").href = "/api/worlds/" + s.id + "/scenario.yaml";
  $("history").href = "/api/worlds/" + s.id + "/history.jsonl";
  $("yaml").hidden = !s.story;
  const told = before ? s.rows.slice(before.rows.length).map((r) => r.text) : [];
  if (told.length) $("live").textContent = told.join(". ");
  $("slider").max = Math.max(1, s.events);
  if (following) $("slider").value = s.events;
  if (following || !before) draw();
  place();
}

function showChallenge(s) {
  $("challenge").hidden = !s.challenge;
  if (!s.challenge) return;
  $("title").textContent = "Challenge: " + s.challenge.title;
  $("task").textContent = s.challenge.task;
  $("hint").textContent = s.challenge.hint;
  $("chapter").href = s.challenge.chapter;
  $("chapter").hidden = !s.challenge.chapter;
  $("solved").hidden = !s.challenge.solved;
}

// showStorage says what the storage holds, and what helps where that is not what it should be.
function showStorage(s) {
  const keys = s.keys.map((k) => k.key + "=" + k.value + (k.client ? ", by " + k.client : ""));
  const marks = s.marks.map((m) => "the mark of " + m.scope + " is " + m.mark);
  $("storage").textContent = "The storage holds " + (keys.join("; ") || "nothing") + (marks.length ? "; " + marks.join(", ") : "") + ".";
  $("again").hidden = s.fenced || Boolean(s.challenge) || s.verdict.name !== "corrupted";
  const [lesson, helps] = $("lesson").querySelectorAll("p");
  lesson.textContent = s.lesson;
  helps.textContent = s.helps && "What helps: " + s.helps;
  $("lesson").hidden = !s.lesson || Boolean(s.challenge && !s.challenge.solved);
}

let acted; // the state that a step was asked for: a second click is not another step

// act has the world do a step. The picture shows what comes of it.
const act = (step) => tell(async () => {
  const now = state.id + " " + state.version;
  if (acted === now) return;
  acted = now;
  following = true;
  try {
    await ask("POST", "/api/worlds/" + state.id + "/steps", { step });
  } catch (e) {
    acted = undefined;
    throw e;
  }
});

function button(c, text, can) {
  const b = element("button", { type: "button", textContent: text, title: c.about, disabled: !can });
  b.dataset.key = b.dataset.step = c.step;
  b.addEventListener("click", () => act(c.step));
  return b;
}

function showClients(s, can) {
  const cards = s.clients.map((c) => {
    const own = choices.filter((choice) => choice.client === c.name);
    const still = c.state === "paused";
    const step = "gcsim: " + (still ? "resume " : "pause ") + c.name;
    const stop = element("button", { type: "button", className: still ? "stop go" : "stop", textContent: still ? "GO ON" : "STOP" });
    stop.setAttribute("aria-label", (still ? "GO ON: let " : "STOP: stop ") + c.name + (still ? " go on" : ""));
    stop.dataset.key = stop.dataset.stop = c.name;
    stop.disabled = !can || !own.some((choice) => choice.step === step);
    stop.addEventListener("click", () => act(step));
    const main = own.filter((choice) => choice.main);
    const more = own.filter((choice) => !choice.main && choice.step !== step);
    const open = $("clients").querySelector('details[data-key="more ' + c.name + '"]')?.open;
    const details = element("details", { open: Boolean(open), hidden: more.length === 0 }, element("summary", { textContent: "More for " + c.name }),
      element("div", { className: "choices" }, ...more.map((choice) => button(choice, choice.fault ? choice.step : choice.text, can))));
    details.dataset.key = "more " + c.name;
    details.firstChild.dataset.key = "summary " + c.name;
    const card = element("fieldset", {}, element("legend", { textContent: c.name }),
      element("p", { textContent: status(c) }), clock(c), stop,
      element("div", { className: "choices" }, ...main.map((choice) => button(choice, choice.text, can))), details);
    card.dataset.client = c.name;
    return card;
  });
  fill($("clients"), ...cards);
  tick();
}

// status says how a client is.
function status(c) {
  if (state.phase === "over" || state.phase === "failed") return "Its process has ended.";
  const is = { running: "It runs", paused: "It stands still", dead: "It is dead" }[c.state];
  if (c.holds) return is + ". It holds the lock.";
  return is + (c.believes ? ". It believes that it holds the lock, and does not." : ". It does not hold the lock.");
}

// clock shows how much of its lease a client has left that cannot renew it.
function clock(c) {
  const text = element("p", { className: "clock" });
  const meter = element("meter", { min: 0, max: c.ttl, value: c.ttl });
  meter.setAttribute("aria-label", "lease of " + c.name);
  return element("div", {}, text, meter);
}

function tick() {
  if (!state) return;
  for (const c of state.clients) {
    const card = $("clients").querySelector('fieldset[data-client="' + c.name + '"]');
    if (!card) continue;
    const [text, meter] = [card.querySelector(".clock"), card.querySelector("meter")];
    const over = state.phase === "over" || state.phase === "failed";
    const runs = c.state === "running" || over;
    const since = Math.max(0, offset + performance.now() - c.since);
    meter.value = !c.holds ? 0 : runs ? c.ttl : Math.max(0, c.ttl - since);
    meter.style.visibility = runs ? "hidden" : "";
    const ttl = c.ttl / 1000 + " s";
    if (over) {
      text.textContent = "";
      continue;
    }
    if (!c.holds) text.textContent = runs || !c.believes ? "No lease. A lease of " + c.name + " lasts for " + ttl + "." : "The lease of " + ttl + " is over.";
    else if (runs) text.textContent = "The lease lasts for " + ttl + ", and longer only if " + c.name + " renews it.";
    else text.textContent = "No renewal for " + (since / 1000).toFixed(1) + " s of " + ttl + (since > c.ttl ? ": the lock service ends the lease at its next look." : ".");
  }
}
setInterval(tick, 100);

function showSteps(s) {
  const items = s.steps.map((step, i) => {
    const back = element("button", { type: "button", textContent: "go back to before it" });
    back.setAttribute("aria-label", "go back to before step " + (i + 1) + ", " + step);
    back.dataset.key = "back " + i;
    back.addEventListener("click", () => fork(i));
    const li = element("li", {}, element("code", { textContent: step }), back);
    if (s.phase === "busy" && step === s.doing) li.className = "doing";
    return li;
  });
  fill($("steps"), ...items);
  $("told").hidden = items.length === 0;
}

// fork tells the story anew up to a step, in another world.
function fork(play) {
  const wish = state.story ? { story: state.story, variant: state.variant, play } : {};
  if (state.challenge) wish.challenge = state.challenge.id;
  tell(() => open(wish));
}

// draw shows the picture of the first events, as many as the slider says.
async function draw() {
  const asked = ++drawn;
  const events = following ? state.events : Number($("slider").value);
  if (events === 0) return fill($("picture"));
  try {
    const answer = await ask("GET", "/api/worlds/" + state.id + "/picture?events=" + events);
    const text = await answer.text();
    if (asked !== drawn) return;
    const focused = $("picture").contains(document.activeElement);
    $("picture").innerHTML = text;
    for (const event of $("picture").querySelectorAll(".event")) event.setAttribute("aria-label", event.querySelector("title").textContent);
    if (focused) $("slider").focus();
    $("picture").dataset.events = events;
  } catch (e) {
    if (asked === drawn && !lost) say(e.message);
  }
}

function place() {
  const n = Number($("slider").value);
  $("place").textContent = n + " of " + state.events;
  $("slider").setAttribute("aria-valuetext", "event " + n + " of " + state.events);
  $("now").disabled = following;
}

$("slider").addEventListener("input", () => {
  following = Number($("slider").value) >= state.events;
  place();
  draw();
});
$("now").addEventListener("click", () => {
  following = true;
  $("slider").value = state.events;
  place();
  draw();
});

// What is known of an event shows when it has the focus. The arrow keys go from one to the next.
$("picture").addEventListener("focusin", (e) => {
  const event = e.target.closest(".event");
  $("details").hidden = !event;
  if (event) $("details").textContent = event.getAttribute("aria-label");
});
$("picture").addEventListener("focusout", () => ($("details").hidden = true));
$("picture").addEventListener("click", (e) => e.target.closest(".event")?.focus({ preventScroll: true }));
$("picture").addEventListener("keydown", (e) => {
  const move = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[e.key];
  const event = e.target.closest(".event");
  if (!move || !event) return;
  const all = [...event.parentNode.querySelectorAll(".event")];
  const to = all[all.indexOf(event) + move];
  if (to) to.focus();
  e.preventDefault();
});

let wantsNext = false; // the focus is to come back to it
$("next").addEventListener("click", () => {
  wantsNext = true;
  act(state.plan[0]);
});
$("fenced").addEventListener("click", () => tell(() => open({ story: state.story, variant: state.variant, fenced: true })));
$("rest").addEventListener("click", () => tell(() => ask("POST", "/api/worlds/" + state.id + "/rest")));
$("end").addEventListener("click", () => tell(() => ask("POST", "/api/worlds/" + state.id + "/end")));
$("solution").addEventListener("click", () => tell(() => open({ challenge: state.challenge.id, solution: true })));
$("typed").addEventListener("submit", (e) => {
  e.preventDefault();
  act($("line").value);
});

// The menu.
let menu;

function options(select, values, chosen) {
  select.replaceChildren(...values.map((v) => element("option", { value: v.value ?? v, textContent: v.text ?? v, disabled: Boolean(v.missing), selected: (v.value ?? v) === chosen })));
}

function service() {
  return menu.services.find((s) => s.name === $("service").value);
}

// What the form asks for by itself is not asked for again below.
const asked = ["ttl", "fencing"];

function showOptions() {
  const groups = [["storage", menu.storage], ["servers", service().world], ["settings", service().client]];
  const labels = groups.flatMap(([group, list]) => (list ?? []).filter((s) => !asked.includes(s.name)).map((s) => {
    const input = element(s.of ? "select" : "input", { title: s.about });
    if (s.of) options(input, s.of, s.default);
    else input.value = s.default;
    input.dataset.group = group;
    input.dataset.name = s.name;
    input.dataset.default = s.default;
    return element("label", { title: s.about }, s.name + " ", input);
  }));
  $("options").replaceChildren(...labels);
}

function setup() {
  const wish = { service: $("service").value, clients: Number($("count").value), locks: Number($("locks").value), storage: { fencing: $("fencing").value }, settings: { ttl: $("ttl").value }, servers: {} };
  for (const input of $("options").querySelectorAll("[data-name]")) {
    if (input.value !== input.dataset.default) wish[input.dataset.group][input.dataset.name] = input.value;
  }
  if (wish.storage.in === "service") wish.storage = { in: "service" };
  return wish;
}

function showVariants() {
  const s = menu.scenarios.find((s) => s.name === $("name").value);
  options($("variant"), s.variants, s.control);
}

$("setup").addEventListener("submit", (e) => {
  e.preventDefault();
  tell(() => open({ setup: setup() }));
});
$("begin").addEventListener("click", () => tell(() => open({ setup: { ...setup(), storage: { fencing: "off" } } })));
$("service").addEventListener("change", showOptions);
$("name").addEventListener("change", showVariants);
$("scenario").addEventListener("submit", (e) => {
  e.preventDefault();
  tell(() => open({ scenario: $("name").value, variant: $("variant").value }));
});
$("yamlfile").addEventListener("change", () => tell(async () => open({ story: await $("yamlfile").files[0].text() })));

async function begin() {
  menu = await (await ask("GET", "/api/menu")).json();
  options($("service"), menu.services.map((s) => ({ value: s.name, text: s.missing ? s.name + " (" + s.missing + ")" : s.name, missing: s.missing })));
  options($("fencing"), menu.storage.find((s) => s.name === "fencing").of, "off");
  options($("name"), menu.scenarios.map((s) => ({ value: s.name, text: s.service + ": " + s.title })));
  showOptions();
  showVariants();
  $("list").replaceChildren(...menu.challenges.map((c) => {
    const b = element("button", { type: "button", textContent: c.title });
    b.dataset.challenge = c.id;
    b.addEventListener("click", () => tell(() => open({ challenge: c.id })));
    return element("li", {}, b, " " + c.task);
  }));
  await locate();
}

// locate shows the world that the address names.
async function locate() {
  const id = location.pathname.match(/^\/w\/([^/]+)$/)?.[1];
  if (id) return watch(id);
  if (source) source.close();
  source = state = undefined;
  $("world").hidden = true;
  $("intro").hidden = false;
}
addEventListener("popstate", () => tell(locate));

tell(begin);
