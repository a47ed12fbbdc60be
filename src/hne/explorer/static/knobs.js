// Sliders, fields and choices of the settings: what is turned becomes a request.

import { element } from "../../viz/report/static/dom.js";
import { withParameter } from "./requests.js";
import { SLIDER_STEPS, numberIn, numberRule, ridgeText, sliderEnd, stepOf, valueAt } from "./scales.js";

const NUMBERS = {
  n_neighbors: { isWhole: true, least: 1 },
  n_components: { isWhole: true, least: 1 },
  reg: { isWhole: false, least: Number.MIN_VALUE },
};
const CHOICES = ["variant", "coordinates", "short_circuits", "pieces", "metric", "scale"];

export class Knobs {
  // `change(request, gesture)` is told of each turn; what a slider passes while it is held is one gesture. `complain(text)`
  // is told what is wrong with what was typed.
  constructor(byId, { limits, choices, canScale }, change, complain) {
    Object.assign(this, { byId, limits, choices, change, complain, gesture: 1, request: null, settings: {} });
    for (const name of Object.keys(NUMBERS)) this.wireNumber(name);
    for (const name of CHOICES) this.wireChoice(name);
    byId("features-group").hidden = !canScale;
  }

  // What is asked for, and what the samples made of what was left to them.
  show(request, settings) {
    Object.assign(this, { request, settings: settings || this.settings });
    for (const name of Object.keys(NUMBERS)) this.showNumber(name);
    for (const name of CHOICES) {
      const value = name === "scale" ? request.scale : request.parameters[name];
      this.byId(`${name}-choice`).value = value;
      this.explain(name, value);
    }
  }

  turn(name, value) {
    const isScale = name === "scale";
    this.change(isScale ? { ...this.request, scale: value } : withParameter(this.request, name, value), this.gesture);
  }

  // A turn that is a gesture of its own.
  turnOnce(name, value) {
    this.gesture++;
    this.turn(name, value);
    this.gesture++;
  }

  wireNumber(name) {
    const { byId, limits } = this;
    const [slider, field, suits] = ["slider", "field", "suits"].map((part) => byId(`${name}-${part}`));
    const { isWhole, least } = NUMBERS[name];
    const [low, high] = limits[name];
    Object.assign(slider, isWhole ? { min: low, max: high, step: 1 } : { min: 0, max: SLIDER_STEPS, step: 1 });
    slider.addEventListener("input", () => {
      const at = Number(slider.value);
      this.turn(name, isWhole ? at : valueAt(at, limits[name]));
    });
    for (const event of ["pointerdown", "keydown", "change"]) slider.addEventListener(event, () => this.gesture++);
    field.addEventListener("input", () => (field.dataset.typing = "yes"));
    field.addEventListener("change", () => {
      delete field.dataset.typing;
      const value = numberIn(field.value, [least, Infinity], isWhole);
      field.setAttribute("aria-invalid", String(value === null));
      if (value === null) this.complain(numberRule(name, isWhole, field.value));
      else this.turnOnce(name, value);
    });
    field.addEventListener("keydown", (event) => {
      const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      const value = by && numberIn(field.value, [least, Infinity], isWhole);
      if (!value) return;
      event.preventDefault();
      // A step is one, or a fifth of a power of ten.
      this.turnOnce(name, isWhole ? Math.max(least, value + by) : Number((value * 10 ** (by / 5)).toPrecision(2)));
    });
    suits?.addEventListener("change", () => this.turnOnce(name, suits.checked ? null : this.settings[name]));
  }

  showNumber(name) {
    const { byId, limits } = this;
    const [slider, field, suits] = ["slider", "field", "suits"].map((part) => byId(`${name}-${part}`));
    const asked = this.request.parameters[name];
    const value = asked ?? this.settings[name];
    if (suits) suits.checked = asked === null;
    if (typeof value !== "number") return;
    const { isWhole } = NUMBERS[name];
    if (isWhole) slider.max = sliderEnd(limits[name][1], value);
    const at = isWhole ? value : stepOf(value, limits[name]);
    if (Number(slider.value) !== at) slider.value = at;
    slider.setAttribute("aria-valuetext", isWhole ? String(value) : ridgeText(value));
    if (field.dataset.typing) return;
    field.value = isWhole ? String(value) : ridgeText(value);
    field.removeAttribute("aria-invalid");
  }

  wireChoice(name) {
    const select = this.byId(`${name}-choice`);
    const known = this.choices[name] || [];
    select.replaceChildren(...known.map(([value, help]) => element("option", { value, title: help }, wordOf(value))));
    select.disabled = known.length < 2;
    select.addEventListener("change", () => this.turnOnce(name, select.value));
  }

  explain(name, value) {
    const help = (this.choices[name] || []).find(([one]) => one === value)?.[1] || "";
    this.byId(`${name}-help`).textContent = help;
    this.byId(`${name}-choice`).title = help;
  }
}

// Variants are known by their initials.
export function wordOf(value) {
  return /^.hne$/.test(value) ? value.toUpperCase() : value;
}
