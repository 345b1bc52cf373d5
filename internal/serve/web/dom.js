// What all parts of the page need: elements, requests, and places for what is wrong.

export const $ = (id) => document.getElementById(id);

// element makes one with properties and children.
export function element(name, properties = {}, ...children) {
  const e = Object.assign(document.createElement(name), properties);
  e.append(...children);
  return e;
}

// drawing makes an element of SVG with attributes and children.
export function drawing(name, attributes = {}, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

// text sets a text where it is another one: a screen reader is not told the same again.
export function text(e, value) {
  if (e.textContent !== value) e.textContent = value;
}

// keyed has a parent have a child for each item, by its key. A child that is there already stays, and so does the focus.
export function keyed(parent, items, key, make, update) {
  const old = new Map([...parent.children].map((e) => [e.dataset.key, e]));
  const list = items.map((item) => {
    const e = old.get(key(item)) ?? make(item);
    e.dataset.key = key(item);
    update(e, item);
    return e;
  });
  for (const e of old.values()) if (!list.includes(e)) e.remove();
  list.forEach((e, i) => {
    if (parent.children[i] !== e) parent.insertBefore(e, parent.children[i] ?? null);
  });
}

// say shows in a place what is wrong; "": nothing is.
export function say(place, words) {
  text(place, words);
  place.hidden = !words;
}

// tell does something that asks the server, and says in a place what is wrong.
export async function tell(place, does) {
  try {
    say(place, "");
    await does();
  } catch (e) {
    say(place, e.message);
  }
}

// ask sends a request. What is wrong is thrown, in the server's words.
export async function ask(method, path, body) {
  let answer;
  try {
    answer = await fetch(path, { method, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Error("gcsim does not answer. Is it running?");
  }
  if (answer.ok) return answer;
  const said = await answer.text();
  let words = said;
  try {
    const problem = JSON.parse(said);
    words = problem.error || problem.detail;
  } catch {}
  throw Object.assign(new Error(words), { status: answer.status });
}

export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
