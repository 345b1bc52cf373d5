// The key / leads to the search. The list of pages begins where the page is in view.
"use strict";
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
  document.querySelector("input[type=search]").focus();
  event.preventDefault();
});
const side = document.querySelector(".side");
const begin = () => (side.scrollTop = side.querySelector("[aria-current]").offsetTop - side.clientHeight / 2);
if (side) {
  begin();
  side.addEventListener("toggle", begin); // on a phone
}
