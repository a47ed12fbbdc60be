// Mouse, pen, fingers and keys -> moves of the window, hovered, pinned and selected samples.

const REACH = 14; // pixels from the pointer within which a sample is hovered
const STILL = 4; // pixels that a click may move
const PAN_STEP = 60;

// `on` has the actions: moved(), overlay(), hover(i), pin(i), hold(i), select(samples, added), escape().
function listen(plot, state, on) {
  const fingers = new Map();
  let drag = null;
  let walk = null;
  const placeOf = (event) => {
    const box = plot.getBoundingClientRect();
    return [event.clientX - box.left - plot.clientLeft, event.clientY - box.top - plot.clientTop];
  };
  const spread = () => {
    const [[ax, ay], [bx, by]] = [...fingers.values()];
    return { x: (ax + bx) / 2, y: (ay + by) / 2, apart: Math.hypot(ax - bx, ay - by) || 1 };
  };

  plot.addEventListener("pointerdown", (event) => {
    if (event.button > 0) return;
    const at = placeOf(event);
    fingers.set(event.pointerId, at);
    plot.setPointerCapture(event.pointerId);
    walk = null;
    if (fingers.size === 2) drag = { kind: "pinch", ...spread() };
    else if (fingers.size === 1) {
      const kind = state.mode !== "move" ? state.mode : event.shiftKey ? "lasso" : "move";
      drag = { kind, start: at, last: at, moved: false, path: [at], added: event.shiftKey && state.mode !== "move" };
    }
  });

  plot.addEventListener("pointermove", (event) => {
    const at = placeOf(event);
    if (!fingers.has(event.pointerId)) {
      on.hover(nearestTo(...at, REACH, on.isShown), at);
      return;
    }
    fingers.set(event.pointerId, at);
    if (!drag) return;
    if (drag.kind === "pinch") {
      if (fingers.size < 2) return;
      const now = spread();
      moveBy(now.x - drag.x, now.y - drag.y);
      zoomAt(now.apart / drag.apart, now.x, now.y);
      drag = { kind: "pinch", ...now };
      on.moved();
      return;
    }
    if (Math.hypot(at[0] - drag.start[0], at[1] - drag.start[1]) > STILL) drag.moved = true;
    if (!drag.moved) return;
    if (drag.kind === "move") moveBy(at[0] - drag.last[0], at[1] - drag.last[1]);
    drag.last = at;
    if (drag.kind === "lasso") drag.path.push(at);
    if (drag.kind === "box") {
      drag.path = [drag.start, [at[0], drag.start[1]], at, [drag.start[0], at[1]]];
    }
    if (drag.kind === "move") on.moved();
    else {
      state.outline = drag.path;
      on.overlay();
    }
  });

  const end = (event) => {
    fingers.delete(event.pointerId);
    const done = drag;
    if (fingers.size === 0) drag = null;
    if (!done || event.type === "pointercancel" || done.kind === "pinch") {
      state.outline = null;
      return on.overlay();
    }
    if (!done.moved) {
      const isTouch = event.pointerType === "touch";
      const found = nearestTo(...placeOf(event), isTouch ? 2 * REACH : REACH, on.isShown);
      if (isTouch && found >= 0 && !(found === state.pinned && state.held)) on.hold(found);
      else on.pin(found === state.pinned ? -1 : found);
    } else if (done.kind !== "move") {
      state.outline = null;
      on.select(samplesInside(done.path, on.isShown), done.added);
    }
    return undefined;
  };
  plot.addEventListener("pointerup", end);
  plot.addEventListener("pointercancel", end);
  plot.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && on.hover(-1));

  plot.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      // Lines of a wheel and pixels of a touch pad: a notch is a quarter more.
      const amount = event.deltaY * (event.deltaMode === 1 ? 33 : 1);
      zoomAt(Math.exp(-amount * (event.ctrlKey ? 0.01 : 0.0022)), ...placeOf(event));
      on.moved();
    },
    { passive: false },
  );

  const step = (by) => {
    if (!walk) walk = { order: fromCenter(on.isShown), at: by > 0 ? -1 : 0 };
    if (!walk.order.length) return;
    walk.at = (walk.at + by + walk.order.length) % walk.order.length;
    on.hover(walk.order[walk.at], toPixel(walk.order[walk.at]));
  };
  const keys = {
    ArrowLeft: () => moveBy(PAN_STEP, 0),
    ArrowRight: () => moveBy(-PAN_STEP, 0),
    ArrowUp: () => moveBy(0, PAN_STEP),
    ArrowDown: () => moveBy(0, -PAN_STEP),
    "+": () => zoomAt(1.4),
    "=": () => zoomAt(1.4),
    "-": () => zoomAt(1 / 1.4),
    0: showAll,
  };
  plot.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (keys[event.key]) {
      walk = null;
      keys[event.key]();
      on.moved();
    } else if (event.key === "n") step(1);
    else if (event.key === "p") step(-1);
    else if (event.key === "Enter") on.pin(state.hovered);
    else if (event.key === "Escape") on.escape();
    else return;
    event.preventDefault();
  });
}
