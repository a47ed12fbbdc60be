// The verdict, live: mark, word and sentence of the picture that is seen, and what is being worked on.

import { element } from "../../viz/report/static/dom.js";

const PATIENCE = 140; // milliseconds before anything says that it is being worked on: most is done by then
const SLOW = 700; // and before it can be cancelled

// The mark of a level of trust, a copy of the one that the markup has.
export function markOf(byId, level) {
  const mark = byId("spare").querySelector(`[data-mark="${level}"] svg`).cloneNode(true);
  return element("span", { class: `level-${level}` }, mark);
}

// What there is to say beside the verdict's own sentence; what is only to be known is a note.
export function listedFindings({ text: said, findings }, warnings) {
  const isSaid = (text) => said.toLowerCase().includes(text.toLowerCase().replace(/[.\s]+$/, ""));
  const notes = warnings.map((text) => ({ level: "note", text, remedy: "" }));
  const found = findings.map((one) => (one.level === "good" ? { ...one, level: "note" } : one));
  return [...found, ...notes].filter(({ text, remedy }) => !isSaid(text) || !isSaid(remedy));
}

export class Strip {
  constructor(byId, onCancel) {
    Object.assign(this, { byId, timers: [], isOpen: false });
    byId("cancel").addEventListener("click", onCancel);
    byId("findings-toggle").addEventListener("click", () => {
      this.isOpen = !this.isOpen;
      this.openFindings();
    });
  }

  show({ verdict, measures, warnings }) {
    const { byId } = this;
    byId("verdict").className = `level-${verdict.level}`;
    byId("verdict-mark").replaceChildren(markOf(byId, verdict.level));
    byId("verdict-word").textContent = verdict.word;
    byId("verdict-text").textContent = verdict.text;
    const chip = ({ name, text, help }) => element("div", { title: `${name} ${text}: ${help}` }, element("dt", {}, name), element("dd", {}, text));
    byId("measures").replaceChildren(...measures.map(chip));
    const line = ({ level, text, remedy }) => {
      const advice = remedy ? [" ", element("span", { class: "advice" }, remedy)] : [];
      return element("li", { class: `level-${level}` }, ...markOf(byId, level).children, element("span", {}, text, ...advice));
    };
    byId("findings").replaceChildren(...listedFindings(verdict, warnings).map(line));
    this.openFindings();
  }

  openFindings() {
    const [list, button] = [this.byId("findings"), this.byId("findings-toggle")];
    const count = list.children.length;
    list.hidden = !this.isOpen || !count;
    button.hidden = !count;
    button.textContent = this.isOpen ? "Less" : count === 1 ? "1 finding" : `${count} findings`;
    button.setAttribute("aria-expanded", String(this.isOpen));
  }

  // Something has begun: the verdict is that of a picture which is about to change.
  begin(text) {
    const { byId } = this;
    this.stop();
    this.text = text;
    this.share = null;
    this.trouble("");
    const tell = () => {
      byId("verdict").classList.add("updating");
      byId("work-bar").hidden = false;
      this.tell();
    };
    this.timers = [setTimeout(tell, PATIENCE), setTimeout(() => (byId("cancel").hidden = false), SLOW)];
  }

  progress({ stage, done, total }) {
    const counted = total ? ` ${done} of ${total}` : done ? ` ${done}` : "";
    this.text = `Updating: ${stage}${counted}`;
    this.share = total ? done / total : null;
    this.tell();
  }

  tell() {
    const { byId, text, share } = this;
    if (byId("work-bar").hidden) return;
    byId("work-text").textContent = text;
    byId("work-bar").classList.toggle("unmeasured", share === null);
    byId("work-bar").firstElementChild.style.width = `${100 * (share ?? 1)}%`;
    if (share === null) byId("work-bar").removeAttribute("aria-valuenow");
    else byId("work-bar").setAttribute("aria-valuenow", String(Math.round(100 * share)));
  }

  stop() {
    this.timers.forEach(clearTimeout);
    this.byId("verdict").classList.remove("updating");
    this.byId("work-bar").hidden = true;
    this.byId("cancel").hidden = true;
    this.byId("work-text").textContent = "";
  }

  trouble(text) {
    this.byId("trouble").hidden = !text;
    this.byId("trouble").textContent = text;
  }
}
