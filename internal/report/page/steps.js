// Each step has its details as a title, which a browser shows on its own after a
// while. Here they come at once, on focus and tap as well.
const popup = document.getElementById("details");
const events = document.querySelectorAll(".event");
for (const event of events) {
  const title = event.querySelector("title");
  event.setAttribute("aria-label", title.textContent);
  title.remove();
}

function show(event) {
  const [text, ...lines] = event.getAttribute("aria-label").split("\n");
  const heading = document.createElement("p");
  heading.textContent = text;
  const list = document.createElement("dl");
  for (const line of lines) {
    const colon = line.indexOf(": ");
    for (const [tag, part] of [["dt", line.slice(0, colon)], ["dd", line.slice(colon + 2)]]) {
      const item = document.createElement(tag);
      item.textContent = part;
      list.append(item);
    }
  }
  popup.replaceChildren(heading, list);
  popup.hidden = false;
  popup.removeAttribute("style");
  if (matchMedia("(max-width: 50rem)").matches) return; // it is at the bottom
  const at = event.getBoundingClientRect();
  const below = at.bottom + popup.offsetHeight + 8 < innerHeight;
  popup.style.left = Math.max(8, Math.min(at.right, root.clientWidth - popup.offsetWidth) - 8) + "px"; // over the words, not the picture
  popup.style.top = Math.max(8, below ? at.bottom + 4 : at.top - popup.offsetHeight - 4) + "px";
}

function hide() {
  popup.hidden = true;
}

function eventOf(e) {
  return e.target.closest(".event");
}

document.addEventListener("pointerover", (e) => {
  if (e.pointerType === "mouse" && eventOf(e)) show(eventOf(e));
});
document.addEventListener("pointerout", (e) => {
  if (e.pointerType === "mouse" && eventOf(e)) {
    const focused = document.activeElement.closest(".event");
    focused ? show(focused) : hide();
  }
});
document.addEventListener("focusin", (e) => {
  if (eventOf(e)) show(eventOf(e));
});
document.addEventListener("click", (e) => {
  if (eventOf(e)) eventOf(e).focus({ preventScroll: true });
  else if (!popup.contains(e.target)) hide(); // what it says can be selected
});
document.addEventListener("focusout", (e) => {
  if (eventOf(e) && !popup.contains(e.relatedTarget)) hide();
});
addEventListener("scroll", () => {
  if (!document.activeElement.closest(".event, #details")) hide();
});

// One step of a timeline is in the order of Tab; the arrow keys go on from there.
const moves = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
document.addEventListener("keydown", (e) => {
  const event = eventOf(e);
  if (e.key === "Escape") {
    if (event) event.blur();
    hide();
  }
  if (!event || !(e.key in moves)) return;
  e.preventDefault();
  const all = [...event.closest("svg").querySelectorAll(".event")];
  const next = all[all.indexOf(event) + moves[e.key]];
  if (!next) return;
  event.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});
