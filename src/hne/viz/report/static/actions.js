// What a reader can do at a desk: point, pin, select, color, hide. An action changes the state and draws what follows.

import { categoriesOf } from "./data.js";
import { cardOf, drawLegend, drawSelection, placeCard, sentenceOf } from "./panels.js";

// What dragging does.
export const MODES = ["move", "box", "lasso"];

export function actionsOf(desk) {
  return { ...pointing(desk), ...choosing(desk), ...coloringBy(desk) };
}

// Of single samples, and of short circuits.
function pointing(desk) {
  const { state, byId } = desk;
  const on = {
    overlay: () => desk.redraw("overlay"),
    moved: () => {
      desk.hideCards();
      desk.redraw();
    },
    hover: (i, plot = desk.plots[0]) => {
      if (i === state.hovered) return;
      desk.hideCards();
      state.hovered = i;
      plot.element.classList.toggle("over-point", i >= 0);
      if (i >= 0) {
        if (plot.view.hasPlace(i)) placeCard(plot, i);
        desk.say(sentenceOf(plot, i));
      }
      desk.redraw("overlay");
    },
    pin: (i) => {
      state.pinned = i;
      on.drawPinned();
      if (i < 0 && state.held) desk.hideCards();
      if (i >= 0) {
        desk.say(`Pinned: ${sentenceOf(desk.plots[0], i)}`);
        reveal(desk, "pinned-panel");
      }
      desk.redraw("overlay");
      desk.tell("pin", i);
    },
    drawPinned: () => {
      const { pinned: i } = state;
      byId("pinned-panel").hidden = i < 0;
      byId("pinned").replaceChildren(...(i < 0 ? [] : cardOf(desk.plots[0], i, 140)));
    },
    // Pin a sample with a card that stays: where no pointer hovers, or the panels are far from the picture.
    hold: (i, plot = desk.plots[0]) => {
      on.pin(i);
      desk.hideCards();
      placeCard(plot, i, () => {
        on.pin(-1);
        plot.element.focus({ preventScroll: true });
      });
      state.held = true;
    },
    // Pin a sample from a list, and bring it into the picture.
    show: (i) => {
      const [first] = desk.plots;
      const having = desk.plots.filter(({ view }) => view.hasPlace(i));
      for (const { view } of having) view.bringIntoView(i);
      if (!having.length) desk.say(`${desk.data.idOf(i)} has no place in this picture`);
      on.moved();
      if (desk.isStacked && having.includes(first)) on.hold(i, first);
      else on.pin(i);
      first.element.scrollIntoView({ block: "nearest" });
    },
    // Mark a short circuit and bring its ends into the picture; null lets go of it.
    short: (pair) => {
      state.short = pair;
      if (pair) {
        on.pin(-1);
        on.moved();
        for (const { view } of desk.plots) if (!view.areInView(...pair)) view.showAll();
        const [from, to] = pair.map(desk.data.idOf);
        desk.say(`Short circuit${desk.plots[0].picture.cut ? " that was cut," : ""} between ${from} and ${to}`);
      }
      desk.redraw();
    },
    // Whether there was something to let go of.
    escape: () => {
      const { pinned, hovered, short, selected } = state;
      if (pinned >= 0 || hovered >= 0) {
        desk.hideCards();
        on.pin(-1);
      } else if (short) on.short(null);
      else desk.on.select([]);
      return pinned >= 0 || hovered >= 0 || short !== null || selected.length > 0;
    },
  };
  return on;
}

// Of many samples, and of the tools for it.
function choosing(desk) {
  const { state, byId } = desk;
  return {
    select: (samples, added = false) => {
      state.selected = added ? [...new Set([...state.selected, ...samples])].sort((a, b) => a - b) : samples;
      desk.setLevels();
      drawSelection(desk);
      if (samples.length) reveal(desk, "selection-panel");
      desk.tell("select", state.selected);
    },
    mode: (mode) => {
      state.mode = mode;
      for (const plot of desk.plots) plot.element.dataset.mode = mode;
      for (const each of MODES) byId(`mode-${each}`).setAttribute("aria-pressed", String(each === mode));
    },
    axes: (first, second) => {
      state.axes = [first, second];
      for (const plot of desk.plots) plot.changeAxes();
      desk.hideCards();
    },
  };
}

function coloringBy(desk) {
  const { state, root, byId } = desk;
  const hide = (entries, focused = null) => {
    state.hidden = entries;
    desk.setLevels();
    drawLegend(desk);
    if (focused !== null) root.querySelector(`[data-entry="${focused}"]`).focus();
  };
  return {
    hide,
    color: (key) => {
      state.color = key;
      state.hidden = new Set();
      const column = desk.data.columns.find((one) => one.key === key);
      const few = column && !column.categories && categoriesOf(column);
      // A handful of whole numbers is more often a class than an amount.
      state.asCategories = Boolean(few) && few.categories.length <= 10 && few.categories.length < desk.data.n / 2;
      desk.recolor();
      desk.tell("color", key);
    },
    emphasize: (number) => {
      state.emphasis = number;
      desk.setLevels();
    },
    toggleEntry: (number) => {
      const hidden = new Set(state.hidden);
      if (!hidden.delete(number)) hidden.add(number);
      hide(hidden, number);
    },
    onlyEntry: (number) => hide(new Set([...desk.paint.entries.keys()].filter((k) => k !== number)), number),
    showEntries: () => hide(new Set(), 0),
    toggleCategories: () => {
      state.asCategories = !state.asCategories;
      state.hidden = new Set();
      desk.recolor();
      byId("as-categories").focus();
    },
  };
}

// Scroll the panels beside the picture so far that one of them is seen; controls above them and the page stay.
export function reveal(desk, id) {
  const panels = desk.byId("panels");
  const [inner, outer] = [desk.byId(id).getBoundingClientRect(), panels.getBoundingClientRect()];
  if (inner.bottom > outer.bottom) panels.scrollTop += Math.min(inner.bottom - outer.bottom, inner.top - outer.top);
  else if (inner.top < outer.top) panels.scrollTop += inner.top - outer.top;
}
