"use strict";

// The button turns the page dark or light, whatever the system asked for.
const root = document.documentElement;
const button = document.getElementById("theme");
button.hidden = false;
button.addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
