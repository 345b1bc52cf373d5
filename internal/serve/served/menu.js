// The menu: challenges, scenarios, and worlds by their settings.

import { $, ask, element, tell } from "./dom.js";
import { open } from "./world.js";

let menu;

const begin = (wish, place = $("menu-trouble")) => tell(place, () => open(wish));

function options(select, values, chosen) {
  select.replaceChildren(...values.map((v) => element("option", { value: v.value ?? v, textContent: v.text ?? v, disabled: Boolean(v.missing), selected: (v.value ?? v) === chosen })));
}

// What the form asks for by itself is not asked for again below.
const asked = ["ttl", "fencing"];

function showOptions() {
  const service = menu.services.find((s) => s.name === $("service-name").value);
  const groups = [["storage", menu.storage], ["servers", service.world], ["settings", service.client]];
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
  const wish = { service: $("service-name").value, clients: Number($("count").value), locks: Number($("locks").value), storage: { fencing: $("fencing").value }, settings: { ttl: $("ttl").value }, servers: {} };
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

// start loads the menu.
export async function start() {
  menu = await (await ask("GET", "/api/menu")).json();
  options($("service-name"), menu.services.map((s) => ({ value: s.name, text: s.missing ? s.name + " (" + s.missing + ")" : s.name, missing: s.missing })));
  options($("fencing"), menu.storage.find((s) => s.name === "fencing").of, "off");
  options($("name"), menu.scenarios.map((s) => ({ value: s.name, text: s.service + ": " + s.title })));
  showOptions();
  showVariants();
  $("list").replaceChildren(...menu.challenges.map((c) => {
    const b = element("button", { type: "button", textContent: c.title });
    b.dataset.challenge = c.id;
    b.addEventListener("click", () => begin({ challenge: c.id }));
    return element("li", {}, b, " " + c.task);
  }));
  $("begin").disabled = false;
}

$("setup").addEventListener("submit", (e) => {
  e.preventDefault();
  begin({ setup: setup() });
});
$("begin").addEventListener("click", () => begin({ setup: { ...setup(), storage: { fencing: "off" } } }, $("begin-trouble")));
$("service-name").addEventListener("change", showOptions);
$("name").addEventListener("change", showVariants);
$("scenario").addEventListener("submit", (e) => {
  e.preventDefault();
  begin({ scenario: $("name").value, variant: $("variant").value });
});
$("yamlfile").addEventListener("change", async () => begin({ story: await $("yamlfile").files[0].text() }));
