// A storage with a hole: node storage.js --listen 127.0.0.1:8080
//
// It is in memory, so value and marks go with the process, together. All that it does
// seems to be one step, as JavaScript has one thread. But the token is checked when the
// headers are there, and the value is written when the body is there: between the two
// others may write. "gcsim laws" finds the hole: LateBodyIsNoWayIn fails.
//
// The mend is to await the body before the check: move the line "const value" up to the
// place that is marked.
const http = require("node:http");

const path = "/v1/kv/";
const data = new Map(); // key -> value
const marks = new Map(); // scope -> the highest token that was admitted

// admit returns why a request is refused, and raises the mark where it is not.
function admit(request, key) {
  const text = request.headers["fencing-token"];
  if (text === undefined) {
    return request.method === "GET" ? null : [428, "a change needs a Fencing-Token"];
  }
  if (!/^[1-9][0-9]{0,18}$/.test(text) || BigInt(text) >= 2n ** 63n) {
    return [400, "Fencing-Token: want a decimal number from 1 to 2^63-1"];
  }
  const scope = request.headers["fencing-scope"] ?? key;
  const token = BigInt(text); // a Number cannot tell tokens above 2^53 apart
  const mark = marks.get(scope) ?? 0n;
  if (token < mark) return [412, `stale: the mark is ${mark}`];
  marks.set(scope, token);
  return null;
}

async function body(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
}

async function handle(request) {
  if (!request.url.startsWith(path) || request.url.includes("?")) return [404, "no such path"];
  if (!["GET", "PUT", "DELETE"].includes(request.method)) return [405, "no such method"];
  const key = request.url.slice(path.length);
  // Here is the place: whatever is awaited must be awaited before the check.
  const refused = admit(request, key);
  if (refused) return refused;
  if (request.method === "GET") return data.has(key) ? [200, data.get(key)] : [404, "no such key"];
  const value = await body(request);
  if (request.method === "PUT") data.set(key, value);
  else data.delete(key);
  return [204, ""];
}

const listen = process.argv[process.argv.indexOf("--listen") + 1] ?? "127.0.0.1:8080";
const [host, port] = listen.split(":");
http.createServer((request, response) => {
  handle(request).then(
    ([status, text]) => response.writeHead(status).end(text),
    () => response.destroy(), // the client went away before its body was there
  );
}).listen(Number(port), host);
