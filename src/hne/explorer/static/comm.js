// Calls over the comm of an anywidget: numbered messages to Python, and back with the same number.

import { abortedCall, concluded } from "./calls.js";

// Shared by all views of all widgets of a page, and larger than the numbers of the page before it.
let lastCall = Date.now();

// Answers are heard until `ending` says so.
export function commCall(model, ending = null) {
  const waiting = new Map();
  const hear = (message, buffers = []) => waiting.get(message.call)?.(message, buffers.map(bytesIn));
  model.on("msg:custom", hear);
  ending?.addEventListener("abort", () => model.off("msg:custom", hear));
  return (kind, payload, { onProgress, signal } = {}) =>
    new Promise((resolve, reject) => {
      const call = ++lastCall;
      const settle = (how, what) => {
        waiting.delete(call);
        signal?.removeEventListener("abort", abort);
        how(what);
      };
      const abort = () => {
        model.send({ call, type: "cancel" });
        settle(reject, abortedCall());
      };
      if (signal?.aborted) return reject(abortedCall());
      signal?.addEventListener("abort", abort);
      waiting.set(call, (message, buffers) => {
        try {
          const end = concluded({ message, buffers }, onProgress);
          if (end) settle(resolve, end);
        } catch (error) {
          settle(reject, error);
        }
      });
      return model.send({ call, kind, payload });
    });
}

// Widgets hand over views of larger buffers, at any offset; arrays of numbers want their own.
function bytesIn(view) {
  if (view instanceof ArrayBuffer) return view;
  return view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
}
