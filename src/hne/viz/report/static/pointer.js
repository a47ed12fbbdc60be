// Mouse, pen, fingers and keys -> moves of the window, hovered, pinned and selected samples.

const REACH = 14; // pixels from the pointer within which a sample is hovered
const STILL = 4; // pixels that a click may move
const PAN_STEP = 60;

export function wirePointer(plot, signal) {
  const pointer = new Pointer(plot);
  const on = (name, act, options = {}) => plot.element.addEventListener(name, act, { signal, ...options });
  on("pointerdown", (event) => pointer.down(event));
  on("pointermove", (event) => pointer.move(event));
  on("pointerup", (event) => pointer.up(event));
  on("pointercancel", (event) => pointer.up(event));
  on("pointerleave", (event) => event.pointerType !== "touch" && plot.desk.on.hover(-1, plot));
  on("wheel", (event) => pointer.wheel(event), { passive: false });
  on("keydown", (event) => pointer.key(event));
  // A card that stays is no part of the plot: what happens on it does not move or pin.
  for (const name of ["pointerdown", "pointermove", "pointerup", "wheel", "keydown"]) {
    plot.card.addEventListener(name, (event) => event.key !== "Escape" && event.stopPropagation(), { signal });
  }
}

class Pointer {
  constructor(plot) {
    Object.assign(this, { plot, desk: plot.desk, fingers: new Map(), drag: null, walk: null });
  }

  placeOf(event) {
    const { element } = this.plot;
    const box = element.getBoundingClientRect();
    return [event.clientX - box.left - element.clientLeft, event.clientY - box.top - element.clientTop];
  }

  pinch() {
    const [[ax, ay], [bx, by]] = [...this.fingers.values()];
    return { kind: "pinch", x: (ax + bx) / 2, y: (ay + by) / 2, apart: Math.hypot(ax - bx, ay - by) || 1 };
  }

  down(event) {
    if (event.button > 0) return;
    const { mode } = this.desk.state;
    const at = this.placeOf(event);
    this.fingers.set(event.pointerId, at);
    this.plot.element.setPointerCapture(event.pointerId);
    this.walk = null;
    if (this.fingers.size === 2) this.drag = this.pinch();
    else if (this.fingers.size === 1) {
      const kind = mode !== "move" ? mode : event.shiftKey ? "lasso" : "move";
      this.drag = { kind, start: at, last: at, moved: false, path: [at], added: event.shiftKey && mode !== "move" };
    }
  }

  move(event) {
    const at = this.placeOf(event);
    if (!this.fingers.has(event.pointerId)) {
      this.desk.on.hover(this.plot.nearestTo(...at, REACH), this.plot);
      return;
    }
    this.fingers.set(event.pointerId, at);
    if (!this.drag) return;
    if (this.drag.kind === "pinch") this.spread();
    else this.dragTo(at);
  }

  spread() {
    if (this.fingers.size < 2) return;
    const { view } = this.plot;
    const [before, now] = [this.drag, this.pinch()];
    view.moveBy(now.x - before.x, now.y - before.y);
    view.zoomAt(now.apart / before.apart, now.x, now.y);
    this.drag = now;
    this.desk.on.moved();
  }

  dragTo(at) {
    const { drag, plot, desk } = this;
    const { start, last } = drag;
    if (Math.hypot(at[0] - start[0], at[1] - start[1]) > STILL) drag.moved = true;
    if (!drag.moved) return;
    drag.last = at;
    if (drag.kind === "move") {
      plot.view.moveBy(at[0] - last[0], at[1] - last[1]);
      desk.on.moved();
      return;
    }
    if (drag.kind === "lasso") drag.path.push(at);
    else drag.path = [start, [at[0], start[1]], at, [start[0], at[1]]];
    plot.outline = drag.path;
    desk.on.overlay();
  }

  up(event) {
    const { drag, plot, desk } = this;
    this.fingers.delete(event.pointerId);
    if (this.fingers.size === 0) this.drag = null;
    plot.outline = null;
    if (!drag || event.type === "pointercancel" || drag.kind === "pinch") desk.on.overlay();
    else if (!drag.moved) this.click(event);
    else if (drag.kind !== "move") desk.on.select(plot.samplesInside(drag.path), drag.added);
  }

  click(event) {
    const { plot, desk } = this;
    const at = this.placeOf(event);
    if (desk.onClick?.(plot, ...at)) return;
    const isTouch = event.pointerType === "touch";
    const found = plot.nearestTo(...at, isTouch ? 2 * REACH : REACH);
    const { pinned, held } = desk.state;
    if (isTouch && found >= 0 && !(found === pinned && held)) desk.on.hold(found, plot);
    else desk.on.pin(found === pinned ? -1 : found);
  }

  wheel(event) {
    event.preventDefault();
    // Lines of a wheel and pixels of a touch pad: a notch is a quarter more.
    const amount = event.deltaY * (event.deltaMode === 1 ? 33 : 1);
    this.plot.view.zoomAt(Math.exp(-amount * (event.ctrlKey ? 0.01 : 0.0022)), ...this.placeOf(event));
    this.desk.on.moved();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { desk } = this;
    if (moveByKey(this.plot.view, event.key)) {
      this.walk = null;
      desk.on.moved();
    } else if (event.key === "n") this.step(1);
    else if (event.key === "p") this.step(-1);
    else if (event.key === "Enter") desk.on.pin(desk.state.hovered);
    else if (event.key !== "Escape" || !desk.on.escape()) return;
    event.preventDefault();
  }

  // To the next sample from the center outward, or back.
  step(by) {
    const { plot } = this;
    this.walk ??= { order: plot.view.fromCenter((i) => plot.isShown(i)), at: by > 0 ? -1 : 0 };
    const { order } = this.walk;
    if (!order.length) return;
    this.walk.at = (this.walk.at + by + order.length) % order.length;
    this.desk.on.hover(order[this.walk.at], plot);
  }
}

// Whether the key is one that moves the window.
function moveByKey(view, key) {
  const [dx, dy] = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key] ?? [0, 0];
  if (dx || dy) view.moveBy(dx * PAN_STEP, dy * PAN_STEP);
  else if (key === "+" || key === "=") view.zoomAt(1.4);
  else if (key === "-") view.zoomAt(1 / 1.4);
  else if (key === "0") view.showAll();
  else return false;
  return true;
}
