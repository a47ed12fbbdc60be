// The list of columns that take part: a box for each, found by its name.

import { dataText, element } from "../../viz/report/static/dom.js";
import { countText } from "../../viz/report/static/data.js";
import { chosenAfter, chosenFeatures, columnsOfRequest, matchingFeatures } from "./featurelist.js";

const TYPING = 150; // milliseconds without a key after which columns are looked for

export class Features {
  // `change(columns)` is told of each choice, null for all.
  constructor(byId, names, change) {
    Object.assign(this, { byId, names, change, chosen: new Set(names) });
    byId("features-part").hidden = names.length < 2;
    let typing = 0;
    byId("features-find").addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.list(), TYPING);
    });
    for (const action of ["all", "none", "invert"]) {
      byId(`features-${action}`).addEventListener("click", () => this.choose(chosenAfter(action, this.chosen, this.match().found)));
    }
    this.list();
  }

  match() {
    return matchingFeatures(this.names, this.byId("features-find").value);
  }

  show({ columns }) {
    this.chosen = chosenFeatures(this.names, columns);
    for (const box of this.byId("features").querySelectorAll("input")) box.checked = this.chosen.has(box.value);
    this.tell();
  }

  // None is no request: boxes stay empty until one is ticked.
  choose(chosen) {
    this.chosen = chosen;
    this.show({ columns: [...chosen] });
    if (chosen.size) this.change(columnsOfRequest(this.names, chosen));
  }

  list() {
    const { shown } = this.match();
    const line = (name) => {
      const box = element("input", { type: "checkbox", value: name });
      box.checked = this.chosen.has(name);
      box.addEventListener("change", () => this.choose(chosenAfter(box.checked ? "all" : "none", this.chosen, [name])));
      return element("li", {}, element("label", {}, box, dataText("span", name)));
    };
    this.byId("features").replaceChildren(...shown.map(line));
    this.tell();
  }

  tell() {
    const { byId, names, chosen } = this;
    const { shown, found } = this.match();
    byId("features-count").textContent = `${countText(chosen.size)} of ${countText(names.length)}`;
    const more = found.length > shown.length ? `The first ${shown.length} of ${countText(found.length)} are listed. ` : "";
    byId("features-note").textContent = `${more}${chosen.size ? "" : "Choose one at least."}`;
  }
}
