// One call at a time: the next request cancels the one under way; and not more often than a hand can see.

import { isAborted } from "./calls.js";

export const LEAST_APART = 60; // milliseconds between two starts

// work(task, { signal, onProgress }) -> Promise. Callbacks: onStart(task), onProgress(message, task), onDone(result, task),
// onError(error, task), onRest(): nothing is under way any more.
export class Runner {
  constructor(work, callbacks, clock = { now: () => performance.now(), later: setTimeout.bind(globalThis) }) {
    Object.assign(this, { work, callbacks, clock });
    this.controller = null;
    this.waiting = null;
    this.isPlanned = false;
    this.started = -Infinity;
    this.nCancelled = 0;
  }

  get isBusy() {
    return Boolean(this.controller || this.waiting);
  }

  // Start this instead of what is under way; of several within a moment the last.
  ask(task) {
    this.abort();
    this.waiting = task;
    const pause = this.started + LEAST_APART - this.clock.now();
    if (pause <= 0) return this.start();
    if (this.isPlanned) return undefined;
    this.isPlanned = true;
    this.clock.later(() => {
      this.isPlanned = false;
      if (this.waiting) this.start();
    }, pause);
    return undefined;
  }

  abort() {
    if (this.controller) this.nCancelled++;
    this.controller?.abort();
    this.controller = null;
  }

  // By hand: nothing comes after.
  cancel() {
    this.abort();
    this.waiting = null;
    this.callbacks.onRest();
  }

  async start() {
    const [task, controller] = [this.waiting, new AbortController()];
    Object.assign(this, { waiting: null, controller, started: this.clock.now() });
    const isCurrent = () => this.controller === controller;
    const { onStart, onProgress, onDone, onError, onRest } = this.callbacks;
    onStart(task);
    try {
      const options = { signal: controller.signal, onProgress: (message) => isCurrent() && onProgress(message, task) };
      const result = await this.work(task, options);
      if (!isCurrent()) return;
      this.controller = null;
      onDone(result, task);
      onRest();
    } catch (error) {
      // An answer that says "cancelled" to a call that nobody has cancelled ends it as well.
      if (!isCurrent()) return;
      this.controller = null;
      if (!isAborted(error)) onError(error, task);
      onRest();
    }
  }
}
