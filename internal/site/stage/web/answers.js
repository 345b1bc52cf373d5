// Answers of the model, from a worker.

// program is the model, compiled once for all workers.
const program = load();
program.catch(() => {}); // who asks is told

async function load() {
  try {
    const answer = await fetch(new URL("play.wasm", import.meta.url));
    if (!answer.ok) throw new Error(answer.statusText);
    return await WebAssembly.compile(await answer.arrayBuffer());
  } catch (e) {
    throw new Error("The model could not be loaded: " + e.message);
  }
}

// answers makes a worker that answers. stop() ends what it works at, and those who asked hear that by an error with
// stopped.
export function answers() {
  let worker;
  let asked = 0;
  const waiting = new Map();

  function start() {
    worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    const mine = worker;
    program.then((compiled) => mine.postMessage({ program: compiled }), () => {});
    worker.addEventListener("message", ({ data }) => {
      const to = waiting.get(data.id);
      if (data.states !== undefined) return to?.tell(data.states, data.steps);
      waiting.delete(data.id);
      if (data.error) return to?.reject(new Error(data.error));
      to?.resolve(JSON.parse(data.answer));
    });
  }
  start();

  return {
    // ask asks a question of package play. A search calls tell(states, steps) again and again.
    async ask(question, tell = () => {}) {
      await program;
      const id = ++asked;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject, tell });
        worker.postMessage({ id, question: JSON.stringify(question) });
      });
    },
    stop() {
      if (!waiting.size) return;
      worker.terminate();
      for (const { reject } of waiting.values()) reject(Object.assign(new Error("stopped"), { stopped: true }));
      waiting.clear();
      start();
    },
  };
}
