
// Only scenarios that have all words, and a run that came to what is asked for, are shown.
const form = document.getElementById("filter");
const [search, ends] = form.elements;
form.hidden = false;
function filter() {
  const words = search.value.toLowerCase().split(/\s+/);
  let shown = 0;
  for (const service of document.querySelectorAll("section")) {
    const name = service.querySelector("h2").firstChild.textContent;
    let some = false;
    for (const scenario of service.querySelectorAll("details")) {
      const text = (name + scenario.textContent).toLowerCase();
      const came = [...scenario.querySelectorAll("summary b")].map((b) => b.textContent);
      const shows = words.every((word) => text.includes(word)) && (!ends.value || came.includes(ends.value));
      scenario.hidden = !shows;
      some ||= shows;
      shown += shows;
    }
    service.hidden = !some;
  }
  form.querySelector("output").textContent = shown + (shown === 1 ? " scenario" : " scenarios");
}
form.addEventListener("input", filter);
form.addEventListener("submit", (e) => e.preventDefault());
filter(); // a browser keeps what was typed before the page was loaded again

// A link to a scenario opens it.
function open() {
  const scenario = document.getElementById(location.hash.slice(1));
  if (scenario?.tagName === "DETAILS") scenario.open = true;
}
addEventListener("hashchange", open);
open();
