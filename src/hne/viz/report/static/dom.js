// Elements, files, the clipboard, light and dark: what any of the pages may need of a browser.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// Data only ever becomes text, whichever way it is written.
export function dataText(tag, text) {
  return element(tag, { class: "data", dir: "auto" }, text);
}

export function download(content, name, type = "text/csv;charset=utf-8") {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = element("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export async function copyText(text, button) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without the right to the clipboard, what a text area holds can still be copied.
    const area = element("textarea");
    Object.assign(area.style, { position: "fixed", top: "0", opacity: "0" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
    button.focus();
  }
  const label = (button.dataset.label ??= button.textContent); // a second click may come before it is back
  button.textContent = done ? "Copied" : "Could not copy";
  setTimeout(() => (button.textContent = label), 1500);
}

// `host` has the theme that was chosen: the document's element, or the host of a shadow root. Paper is white.
export function isDark(host) {
  if (matchMedia("print").matches) return false;
  const chosen = host.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

// A button that says what a click turns to; `changed` is told of each turn, also of the system's or the printer's.
export function wireTheme(host, button, changed = () => {}, signal = undefined) {
  const tell = () => (button.textContent = isDark(host) ? "Light" : "Dark");
  const turn = () => {
    host.dataset.theme = isDark(host) ? "light" : "dark";
    tell();
    changed();
  };
  if (button) button.hidden = false;
  button?.addEventListener("click", turn, { signal });
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    const told = () => {
      if (button && query !== "print") tell();
      changed();
    };
    matchMedia(query).addEventListener("change", told, { signal });
  }
  if (button) tell();
}
