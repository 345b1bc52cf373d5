// Tells the stories of docs/libraries-node.md's table with a library, and says the facts, a line each: a name, a tab, a
// fact. Each client is a library's own connection, and both are in this process. The arguments: the library's file, and
// what agent.mjs takes.
import { Over, Settings, Wait, sleep } from "./agent.mjs";

const { Library } = await import("./" + process.argv[2]);
const settings = new Settings(process.argv[3]);

async function client() {
  const made = new Library(settings);
  await made.reach();
  return made;
}

const say = (name, fact) => console.log(`${name}\t${fact}`);

/** What somebody is told who does something. */
async function answers(what) {
  try {
    return await what() ?? "returns";
  } catch (err) {
    if (!(err instanceof Over)) return `throws \`${err.name}\``;
    return err.message.includes(": ") ? `throws \`${err.message.split(":")[0]}\`` : "returns, and says nothing";
  }
}

const attempt = (of, name, ms = 0) => answers(async () => await of.lock(name, new Wait(ms)) ? "granted" : "refused");

/** Lets the lease of a holder run out that renews nothing, or takes the lock from it, and has the other one take it. */
async function succeed(held, of, other, name) {
  await of.lose?.(held);
  for (const until = Date.now() + 30000; Date.now() < until; await sleep(10)) {
    const next = await other.lock(name, new Wait(0));
    if (next) return next;
  }
  throw new Error(`${name} is never free`);
}

const [one, two] = [await client(), await client()];
let held = await one.lock("/taken", new Wait(0));
say("token", held.token ? "none; the program can read the create revision of its key" : "none");
say("taken while another client has it", await attempt(two, "/taken"));
say("taken again by the same client", await attempt(one, "/taken"));
say("a wait for 1 s", await attempt(two, "/taken", 1000));
await held.unlock();
let next = await two.lock("/taken", new Wait(0));
say("after the unlock", next ? "the next one has it" : "it is taken");
await next.unlock();

held = await one.lock("/renewed", new Wait(0));
await sleep(settings.ttl + 2000);
say("held for longer than the TTL", await held.held() ? "it renews the lock" : "the lock is over");

held = await one.lock("/late", new Wait(0));
next = await succeed(held, one, two, "/late");
await next.unlock();
say("after a loss the library itself believes", await held.acquired() ? "that it holds the lock" : "that it has lost the lock");
say("late unlock, nobody has the lock", await answers(() => held.unlock()));

held = await one.lock("/next", new Wait(0));
next = await succeed(held, one, two, "/next");
say("late unlock, another one has the lock", await answers(() => held.unlock()) + (await next.held() ? "" : ", and frees its lock"));
next.unlock().catch(() => {});

if (settings.by !== "etcd3") { // which would send its request later
  // The request is on its way, and the process stands still.
  const taking = answers(async () => {
    const late = await one.lock("/slow", new Wait(0));
    if (!late) return "refused";
    return await late.held() ? "granted, and the lock is held" : "granted, though the lock is held no more";
  });
  for (const until = performance.now() + settings.ttl + 1500; performance.now() < until;);
  say("an answer that is read after the lease", await taking);
}
process.exit(0);
