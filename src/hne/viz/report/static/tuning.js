// Buttons of the page about a search for settings: light and dark, and copying a command. All else is there without.

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function wireTheme() {
  const button = document.getElementById("theme");
  const tell = () => (button.textContent = isDark() ? "Light" : "Dark");
  button.hidden = false;
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    tell();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tell);
  tell();
}

async function copyText(source, button) {
  let done = true;
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch {
    // Without the right to the clipboard, what is selected can still be copied.
    getSelection().selectAllChildren(source);
    done = document.execCommand("copy");
  }
  button.textContent = done ? "Copied" : "Press Ctrl+C";
  setTimeout(() => (button.textContent = "Copy"), 1500);
}

wireTheme();
for (const button of document.querySelectorAll(".copy")) {
  button.hidden = false;
  button.addEventListener("click", () => copyText(button.parentElement.querySelector("code"), button));
}
