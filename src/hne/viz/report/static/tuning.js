// Buttons of the page about a search for settings: light and dark, and copying a command. All else is there without.

import { copyText, wireTheme } from "./dom.js";

wireTheme(document.documentElement, document.getElementById("theme"));
for (const button of document.querySelectorAll(".copy")) {
  button.hidden = false;
  button.addEventListener("click", () => copyText(button.parentElement.querySelector("code").textContent, button));
}
