// A lock client on Redis, in JavaScript, Node without packages: the client of a scenario by
// command: [node, examples/client/client.js], with service redis and by: fenced.
//
// It obeys lock, unlock, read, write, delete, begin write, begin delete and finish, and answers
// all else by an error. docs/agent.md in fencelab describes the protocol.
const crypto = require("node:crypto");
const http = require("node:http");
const net = require("node:net");
const readline = require("node:readline");

const take = `if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
return redis.call('INCR', KEYS[2])`;
const free = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return redis.call('DEL', KEYS[1])";
const methods = { read: "GET", write: "PUT", delete: "DELETE" };
const reasons = { 400: "invalid", 412: "stale", 422: "ahead", 428: "missing" };
// What this client does, where a scenario could choose something else.
const fixed = {
  service: "redis", by: "fenced", scope: "lock", reads: "fenced", numbered: "false", delay: "0s", look: "begin",
  unlock: "compare", renew: "none", wait: "0", token: "granted",
};

class Wrong extends Error {} // a command that cannot be obeyed; nothing was done

// args are the arguments by name; those that nobody here knows do no harm.
const args = {};
let option = "";
for (const word of process.argv.slice(2)) {
  const [, name, value] = /^--([^=]+)=?(.*)$/s.exec(word) ?? [null, option, word];
  option = name;
  args[option] = value;
}

function milliseconds(text) {
  const units = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };
  return [...text.matchAll(/([0-9.]+)(h|ms|m|s)/g)].reduce((sum, [, n, unit]) => sum + n * units[unit], 0);
}

const ttl = milliseconds(args.ttl);
const timeout = milliseconds(args.timeout);
const held = new Map(); // lock -> its last grant; the latest grant comes last
const news = []; // losses that wait, as it stands before a write
let begun = null; // what finish will do
let asked = Number(args["asked-before"]);
let last = 0n;

// say says an event. A field that is empty is left out. The number of nanoseconds is too long
// for a Number.
function say(kind, fields) {
  const now = BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n;
  if (now > last) last = now;
  const event = { lane: args.name, kind, client: args.name };
  for (const [name, value] of Object.entries(fields)) if (value) event[name] = value;
  process.stdout.write(`{"at":${last},${JSON.stringify(event).slice(1)}\n`);
}

// redis asks Redis once, over a connection of its own.
function redis(...words) {
  return new Promise((resolve, reject) => {
    const [host, port] = args.endpoints.split(":");
    const conn = net.connect(Number(port), host);
    let answer = "";
    conn.setTimeout(timeout, () => conn.destroy(new Error("no answer in time")));
    conn.on("error", reject);
    conn.on("close", () => reject(new Error("Redis gave no whole answer")));
    conn.on("data", (part) => {
      answer += part;
      const [, kind, text] = /^([-+:$])(.*)\r\n/.exec(answer) ?? [];
      if (!kind) return; // it goes on
      if (kind === "-") reject(new Error(text));
      resolve(kind === ":" ? Number(text) : kind === "$" ? null : text); // no script here answers with a text
      conn.destroy();
    });
    const bulk = (word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`;
    conn.write(`*${words.length}\r\n${words.map(bulk).join("")}`);
  });
}

function lost(tenure) {
  return performance.now() >= tenure.until;
}

// tell tells of the end of a lease, by this client's clock.
function tell(tenure) {
  if (begun) news.push(tenure);
  else if (!tenure.released) say("lost", { scope: tenure.lock, tenure: tenure.owner, token: tenure.token });
}

function about(lock) {
  const tenure = held.get(lock);
  return tenure ? { scope: lock, tenure: tenure.owner, token: tenure.token } : { scope: lock };
}

// under takes "under NAME" from the end; without it the lock is the last one.
function under(text) {
  const [, rest, name] = /^(.*) under (\S+)$/.exec(text) ?? [];
  return name ? [rest, name] : [text, [...held.keys()].at(-1) ?? args.lock];
}

async function lock(text) {
  const found = /^(?!within )(\S+)?(?: ?within (\S+))?$|^within (\S+)$/.exec(text);
  if (!found) throw new Wrong(`lock ${text}: want lock [NAME] [within TIME]`);
  const name = found[1] ?? args.lock;
  const e = { op: "lock", scope: name };
  say("invoke", e);
  if (held.has(name) && !lost(held.get(name))) return say("fail", { ...e, reason: "held", text: "it holds the lock already" });
  const owner = crypto.randomBytes(8).toString("hex");
  const within = found[2] ?? found[3];
  const end = performance.now() + (within ? milliseconds(within) : timeout);
  for (;;) {
    const now = performance.now();
    let token;
    try {
      token = await redis("EVAL", take, 2, name, `fencelab_token:{${name}}`, owner, ttl);
    } catch (err) { // unless it was not even reached, Redis may have done it
      return say(err.code === "ECONNREFUSED" ? "fail" : "unknown", { ...e, text: err.message });
    }
    if (token) {
      const tenure = { lock: name, owner, token: String(token), until: now + ttl };
      tenure.end = setTimeout(tell, tenure.until - performance.now() + 1, tenure);
      held.delete(name);
      held.set(name, tenure);
      return say("ok", { ...e, ...about(name) });
    }
    if (performance.now() > end) return say("fail", { ...e, text: "not granted in time" });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function unlock(text) {
  const name = text || under("")[1];
  const e = { op: "unlock", ...about(name) };
  say("invoke", e);
  const tenure = held.get(name);
  if (!tenure) return say("fail", { ...e, text: "it holds nothing" });
  held.delete(name);
  tenure.released = !lost(tenure);
  try {
    if (await redis("EVAL", free, 1, name, tenure.owner)) say("ok", e);
    else say("fail", { ...e, text: "that tenure is over" });
  } catch (err) {
    say("unknown", { ...e, text: err.message });
  }
}

// request is the one to the storage that a command is about: it shows the token of the last grant.
function request(op, text) {
  const [what, name] = under(text);
  const at = op === "write" ? what.indexOf("=") : what.length;
  const key = what.slice(0, Math.max(at, 0));
  if (!key.trim()) throw new Wrong(`${op} ${text}: want a KEY${op === "write" ? "=VALUE" : ""}`);
  return { op, key, value: what.slice(at + 1), ...about(name) };
}

async function ask(asks) {
  const e = { ...asks, request: `${args.name}-${++asked}` };
  say("invoke", e);
  const headers = { "X-Request-Id": e.request, "Fencing-Scope": Buffer.from(e.scope).toString("latin1") };
  if (e.token) headers["Fencing-Token"] = e.token;
  const url = `${args.storage.replace(/\/$/, "")}/v1/kv/${encodeURIComponent(e.key)}`;
  let status, type, body = "";
  try {
    const answer = await new Promise((resolve, reject) => {
      const sent = http.request(url, { method: methods[e.op], headers, agent: false, signal: AbortSignal.timeout(timeout) }, resolve);
      sent.on("error", reject);
      sent.end(e.op === "write" ? e.value : undefined);
    });
    for await (const part of answer.setEncoding("utf8")) body += part;
    [status, type] = [answer.statusCode, answer.headers["content-type"]];
  } catch (err) { // unless it was not even reached, the storage may have done it
    return say(err.code === "ECONNREFUSED" ? "fail" : "unknown", { ...e, text: err.message });
  }
  if (e.op === "read" && status === 200) return say("ok", { ...e, value: body });
  if (e.op === "read" && status === 404) return say("ok", { ...e, missing: true });
  if (status < 300) return say("ok", e);
  const text = `the storage answers ${status}`;
  if (status >= 500) return say("unknown", { ...e, text });
  const why = type === "application/problem+json" ? JSON.parse(body) : {};
  say("fail", { ...e, reason: reasons[status], mark: why.mark, text });
}

function begin(text) {
  const [, op, rest] = /^(write|delete) (.*)$/.exec(text) ?? [];
  if (!op) throw new Wrong(`begin ${text}: want begin write or begin delete`);
  const e = request(op, rest);
  if (held.has(e.scope) && lost(held.get(e.scope))) { // it looks at its own clock
    say("invoke", e);
    return say("fail", { ...e, reason: "lost", text: "its lease is over" });
  }
  begun = e;
  say("note", { ...e, value: "", text: `stands before the ${op}` });
}

async function finish() {
  if (!begun) throw new Wrong("finish: nothing was begun");
  await ask(begun);
  goOn();
}

function goOn() {
  begun = null;
  news.splice(0).forEach(tell);
}

async function obey(line) {
  const [, verb, text] = /^(\S*) ?(.*)$/.exec(line);
  if (begun && line !== "finish") throw new Wrong(`${verb}: something was begun, finish it first`);
  if (Object.hasOwn(methods, verb)) return ask(request(verb, text));
  const does = { lock, unlock, begin, finish };
  if (!Object.hasOwn(does, verb)) throw new Wrong(`unknown command ${verb}`);
  return does[verb](text);
}

async function end() {
  goOn();
  for (const tenure of [...held.values()].reverse()) if (!lost(tenure)) await unlock(tenure.lock);
  process.exit(0);
}

async function main() {
  for (const [name, value] of Object.entries(fixed)) {
    if ((args[name] ?? value) === value) continue;
    console.error(`this client has --${name} ${value} alone, not ${args[name]}`);
    process.exit(2);
  }
  try {
    await redis("PING");
    await new Promise((resolve, reject) => http.get(`${args.storage}/healthz`, { agent: false }, (answer) => answer.resume().on("end", resolve)).on("error", reject));
  } catch (err) {
    console.error(`cannot reach Redis or the storage: ${err.message}`);
    process.exit(1);
  }
  process.on("SIGTERM", end);
  say("note", { key: "protocol", value: "1", text: "ready" });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    try {
      if (line) await obey(line);
    } catch (err) {
      if (!(err instanceof Wrong)) throw err;
      say("error", { text: err.message });
    }
  }
  await end();
}

main();
