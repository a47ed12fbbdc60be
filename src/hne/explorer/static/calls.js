// What every way to Python has in common: how an answer ends, and arrays out of its bytes.

const ARRAY_KINDS = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array };

// A call that was refused or failed: a sentence for people, and the parameter that it is about, if any.
export class CallError extends Error {
  constructor(text, parameter = "") {
    super(text);
    this.name = "CallError";
    this.parameter = parameter;
  }
}

export function abortedCall() {
  return new DOMException("The call was cancelled.", "AbortError");
}

export function isAborted(error) {
  return error?.name === "AbortError";
}

// The last frame of an answer -> what the caller gets; null for a frame that is not the last.
export function concluded({ message, buffers }, onProgress) {
  if (message.type === "done") return { message, buffers };
  if (message.type === "error") throw new CallError(message.text, message.parameter);
  if (message.type === "cancelled") throw abortedCall();
  if (message.type === "progress" && onProgress) onProgress(message);
  return null;
}

// An array as a message describes it, over its bytes.
export function arrayIn(described, buffers) {
  return described ? new ARRAY_KINDS[described.kind](buffers[described.buffer]) : null;
}

export function columnsIn(described, buffers) {
  return described.map(({ buffer, ...column }) => ({ ...column, values: arrayIn({ kind: column.kind, buffer }, buffers) }));
}
