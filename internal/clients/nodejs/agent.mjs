// The half of a client that is in JavaScript: it does with a library's locks what a line of its input asks, and answers
// by a line. What a client does in a scenario is known to the other half alone, which is gcsim's own client: see
// internal/clients/peer. A library is a file beside this one, with a class Library, which it gives to run.
import http from "node:http";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const nanos = 1e6; // in a millisecond
// What the libraries do, where a scenario could choose something else.
const known = {
  look: ["", "begin", "nothing", "session", "owner", "acquired"], mode: ["", "exclusive"],
  token: ["", "granted", "revision", "header"], unlock: ["", "compare"], renew: ["", "none"], wait: ["", "0"],
};

/** The tenure was over before it was to be released. */
export class Over extends Error {
  static by(err) { return new Over(`${err.name}: ${err.message}`); }
}

/** Something was not done, and will not be. */
export class Refused extends Error {}

/** A setting for which there is no code. */
class Unknown extends Error {}

/** What is known of the client: its settings by name. Times are in milliseconds. */
export class Settings {
  constructor(line) {
    this.fields = new URLSearchParams(line);
    [this.by, this.ttl, this.timeout] = [this.text("by"), this.time("ttl"), this.time("timeout")];
    for (const [name, values] of Object.entries(known)) {
      if (!values.includes(this.text(name))) {
        throw new Unknown(`--${name} is ${this.text(name)}, and this client knows ${values.join(", ")}`);
      }
    }
  }

  text(name) { return this.fields.get(name) ?? ""; }

  time(name) { return Number(this.text(name) || 0) / nanos; }

  /** What belongs to the recipe. */
  of(recipes) {
    if (!(this.by in recipes)) {
      throw new Unknown(`--by is ${this.by}, and this client has ${Object.keys(recipes).join(", ")}`);
    }
    return recipes[this.by];
  }

  addresses() { return this.text("endpoints").split(","); }
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** An attempt to take a lock, for so many milliseconds; 0: it does not wait. */
export class Wait {
  constructor(ms) { [this.ms, this.ended] = [ms, new AbortController()]; }

  get cancelled() { return this.ended.signal.aborted; }

  /** Asks again and again, for a library that does not wait itself: take returns null where the lock is another's. */
  async again(take, every = 100) {
    const until = performance.now() + this.ms;
    for (;;) {
      const taken = await take();
      if (taken || this.cancelled || performance.now() >= until) return taken;
      await sleep(Math.min(every, Math.max(0, until - performance.now())));
    }
  }
}

/** A tenure, from the first attempt to take the lock to its release. A library's grant has a name, as the lock service's
 *  own account calls it, held and unlock. It can have a token; acquired, which is what the library itself believes; and told,
 *  which reports whether the library has told its holder of a loss. One thing is done after the other, but for told. */
class Held {
  constructor() { [this.grant, this.released, this.last] = [null, false, Promise.resolve()]; }

  inTurn(what) {
    this.last = this.last.then(what, what);
    return this.last;
  }

  /** Ends the grant. It can be tried again, unless it returns or says that the tenure was over. */
  async unlock() {
    this.released = true;
    try {
      await this.grant.unlock();
    } catch (err) {
      if (err instanceof Over) this.grant = null;
      throw err;
    }
    this.grant = null;
  }

  /** Returns when the tenure is over, and whether it was lost. A library that tells nobody is asked. */
  async loses(ttl) {
    for (let seen = performance.now(); !this.released;) {
      await sleep(ttl / 3);
      const asks = performance.now();
      let held;
      try {
        held = await Promise.race([this.inTurn(() => this.grant?.held() ?? true), sleep(ttl).then(() => { throw new Error(); })]);
        seen = asks;
      } catch { // it cannot be known
        held = performance.now() - seen <= ttl;
      }
      if (!held) return !this.released;
    }
    return false;
  }
}

class Agent {
  constructor(settings, library) {
    Object.assign(this, { settings, library, locks: null, held: new Map(), waits: new Map(), underWay: new Set() });
  }

  say(fields) {
    const line = new URLSearchParams();
    for (const [name, value] of Object.entries(fields)) {
      for (const one of [value].flat()) line.append(name, one);
    }
    process.stdout.write(line + "\n");
  }

  async obey() {
    for await (const line of readline.createInterface({ input: process.stdin })) {
      const fields = new URLSearchParams(line);
      const ask = { ...Object.fromEntries(fields), header: fields.getAll("header") };
      if (ask.op === "cancel") {
        this.waits.get(ask.of)?.ended.abort();
        continue;
      }
      let of = null;
      if (ask.tenure !== undefined) {
        if (!this.held.has(ask.tenure)) this.held.set(ask.tenure, new Held());
        of = this.held.get(ask.tenure);
        if (ask.op === "lock") this.waits.set(ask.id, new Wait(Number(ask.within) / nanos));
      }
      const answer = () => this.answer(ask, of);
      const done = (of && ask.op !== "told" ? of.inTurn(answer) : answer()).finally(() => this.underWay.delete(done));
      this.underWay.add(done);
    }
    await Promise.race([Promise.all([...this.underWay]), sleep(this.settings.timeout)]);
    await this.locks?.close();
  }

  async answer(ask, of) {
    let [end, text, learned] = ["ok", "", {}];
    try {
      learned = await this.act(ask, of) ?? {};
    } catch (err) {
      end = err instanceof Refused ? "no" : err instanceof Over ? "over" : "unknown";
      text = end === "unknown" ? `${err.name}: ${err.message}` : err.message;
    }
    const wait = this.waits.get(ask.id);
    this.waits.delete(ask.id);
    if (wait?.cancelled) end = await giveBack(of, end);
    this.say({ id: ask.id, end, text, ...learned });
    if (["lock", "unlock"].includes(ask.op) && !of.grant) {
      this.held.delete(ask.tenure);
    } else if (ask.op === "lock") {
      of.loses(this.settings.ttl).then((lost) => lost && this.say({ lost: ask.tenure }));
    }
  }

  async act(ask, of) {
    switch (ask.op) {
      case "reach":
        this.locks ??= new this.library(this.settings);
        await this.locks.reach();
        return {};
      case "lock": {
        const grant = await this.locks.lock(ask.lock, this.waits.get(ask.id));
        if (!grant) throw new Refused("another tenure has the lock");
        of.grant = grant;
        return { name: grant.name, token: grant.token ?? 0, reenters: "false" };
      }
      case "again":
        throw new Refused("this library's lock is not to be taken twice");
      case "unlock":
        await of.unlock();
        return {};
      case "look":
        if (ask.look === "acquired" && !of.grant.acquired) throw new Refused("this library has no such question");
        return { yes: String(await (ask.look === "acquired" ? of.grant.acquired() : of.grant.held())) };
      case "told":
        if (!of.grant.told) throw new Refused("this library tells nobody of a loss");
        return { yes: String(of.grant.told()) };
      case "send":
        return send(ask, this.settings.timeout);
    }
    throw new Refused("the process in JavaScript does not know " + ask.op);
  }
}

/** Releases a lock that came when nobody waited for it any more. */
async function giveBack(of, end) {
  try {
    if (of.grant) await of.unlock();
    return end === "unknown" ? end : "no";
  } catch {
    return "unknown";
  }
}

/** Sends a request to the storage, over a connection of its own. */
function send(ask, timeout) {
  const headers = Object.fromEntries(ask.header.map((line) => line.split(/: (.*)/s)));
  return new Promise((done, failed) => {
    const request = http.request(ask.url, { method: ask.method, headers, timeout, agent: false }, (got) => {
      const parts = [];
      got.on("data", (part) => parts.push(part)).on("error", failed).on("end", () => done({
        status: got.statusCode, body: Buffer.concat(parts).toString(),
        header: Object.entries(got.headers).flatMap(([name, values]) => [values].flat().map((value) => `${name}: ${value}`)),
      }));
    });
    request.on("timeout", () => request.destroy(new Error("no answer in time")));
    request.on("error", (err) => err.code === "ECONNREFUSED" ? done({ refused: err.message }) : failed(err)); // nothing was sent
    request.end(ask.body ?? "");
  });
}

/** Is the main program of a client with the locks of a library, if url is that of the main module. It ends with its input. */
export async function run(library, url) {
  if (url !== pathToFileURL(process.argv[1]).href) return;
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => {}); // they are for the other half, which releases the locks
  try {
    await new Agent(new Settings(process.argv[2]), library).obey();
    process.exit(0); // a library's timers go on for ever
  } catch (err) {
    process.stderr.write(`${err instanceof Unknown ? "" : err.name + ": "}${err.message}\n`, () => process.exit(err instanceof Unknown ? 2 : 1));
  }
}
