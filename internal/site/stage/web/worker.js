// The model in a thread of its own, so that a search does not hold up the page. The first message is the program.

import "./wasm_exec.js";

let started;
const runs = new Promise((resolve) => (started = resolve));

addEventListener("message", async ({ data }) => {
  if (data.program) {
    const go = new Go();
    go.run(await WebAssembly.instantiate(data.program, go.importObject));
    return started();
  }
  await runs;
  postMessage({ id: data.id, ...fencelabAnswer(data.question, (states, steps) => postMessage({ id: data.id, states, steps })) });
});
