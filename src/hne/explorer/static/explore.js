// The page of `hne explore`: the workbench over HTTP, and a few read-only numbers for whoever tests it.

import { httpCall, tokenOf } from "./http.js";
import { rememberedBy } from "./memory.js";
import { Workbench } from "./workbench.js";

function watched(bench) {
  const { desk, trail, runner } = bench;
  const plots = desk?.plots || [];
  return {
    request: bench.request,
    result: trail.current?.id ?? null,
    busy: runner.isBusy,
    cancelled: runner.nCancelled,
    latency: { ...bench.latency },
    trail: trail.entries.length,
    at: trail.entries.indexOf(trail.current),
    level: trail.current?.result.verdict.level ?? null,
    selected: [...(desk?.state.selected || [])],
    hovered: desk?.state.hovered ?? -1,
    pinned: desk?.state.pinned ?? -1,
    shorts: trail.current?.picture.shorts ?? [],
    red: plots[0]?.counts?.shorts ?? 0,
    turned: trail.current?.result.turned ?? false,
    moving: plots.some((plot) => plot.motion),
    plots: plots.length,
    held: bench.beside?.entry?.id ?? null,
  };
}

// In pixels of the window.
function pixelIn(plot, i) {
  const box = plot.element.getBoundingClientRect();
  const [x, y] = plot.pixelOf(i);
  return [box.left + plot.element.clientLeft + x, box.top + plot.element.clientTop + y];
}

const token = tokenOf(location);
const bench = new Workbench(document, httpCall(token), rememberedBy(() => sessionStorage, `hne ${location.pathname} ${token}`));
window.hneExplorer = Object.freeze({
  state: () => watched(bench),
  pixelOf: (i, number = 0) => pixelIn(bench.desk.plots[number], i),
});
bench.open();
