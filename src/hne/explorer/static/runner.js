// One call at a time: the next request cancels the one under way, unless that will be done in a moment anyway, so that
// pictures follow a slider as it moves; and none is started more often than a hand can see.

import { isAborted } from "./calls.js";

export const LEAST_APART = 60; // milliseconds between two starts
export const QUICK = 300; // milliseconds that a call may go on to its end, where the one before has not taken longer

// work(task, { signal, onProgress }) -> Promise. Callbacks: onStart(task), onProgress(message, task), onDone(result, task),
// onError(error, task), onRest(): nothing is under way any more.
export class Runner {
  constructor(work, callbacks, clock = { now: () => performance.now(), later: setTimeout.bind(globalThis) }) {
    Object.assign(this, { work, callbacks, clock });
    this.controller = null;
    this.waiting = null;
    this.started = -Infinity;
    this.took = Infinity; // the last call that came to its end
    this.nCancelled = 0;
  }

  get isBusy() {
    return Boolean(this.controller || this.waiting);
  }

  // Start this instead of what is under way; of several within a moment the last.
  ask(task) {
    this.waiting = task;
    if (this.took > QUICK) this.abort();
    this.next();
  }

  next() {
    if (!this.waiting) return;
    const pause = this.started + (this.controller ? QUICK : LEAST_APART) - this.clock.now();
    if (pause > 0) {
      this.clock.later(() => this.next(), pause);
      return;
    }
    this.abort();
    this.start();
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
    const { onStart, onProgress } = this.callbacks;
    onStart(task);
    const options = { signal: controller.signal, onProgress: (message) => isCurrent() && onProgress(message, task) };
    const [result, error] = await this.work(task, options).then((done) => [done, null], (failed) => [null, failed]);
    if (!isCurrent()) return;
    this.controller = null;
    this.end(task, result, error);
  }

  end(task, result, error) {
    const { onDone, onError, onRest } = this.callbacks;
    try {
      if (!error) {
        this.took = this.clock.now() - this.started;
        onDone(result, task);
      } else if (!isAborted(error)) onError(error, task); // Python may have cancelled what nobody here has
    } finally {
      if (this.waiting) this.next();
      else if (!this.controller) onRest();
    }
  }
}
