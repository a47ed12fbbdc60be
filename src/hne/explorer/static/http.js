// Calls over HTTP: a POST whose answer streams frames; aborting it cancels the work.

import { CallError, concluded, isAborted } from "./calls.js";
import { FrameReader } from "./frames.js";

const GONE = "hne does not answer. Is it still running in its terminal?";

// The token of the address: after # or among the query.
export function tokenOf({ hash, search }) {
  const named = new URLSearchParams(hash.slice(1)).get("token") || new URLSearchParams(search).get("token");
  return named || "";
}

export function httpCall(token, fetched = (...request) => fetch(...request)) {
  return async (kind, payload, { onProgress, signal } = {}) => {
    const headers = { "Content-Type": "application/json", "X-Hne-Token": token };
    try {
      const response = await fetched(`/api/${kind}`, { method: "POST", headers, body: JSON.stringify(payload), signal });
      if (!response.ok) throw new CallError(await refusal(response));
      return await lastFrame(response.body.getReader(), onProgress);
    } catch (error) {
      if (error instanceof CallError || isAborted(error)) throw error;
      throw new CallError(GONE);
    }
  };
}

async function refusal(response) {
  const body = await response.json().catch(() => ({}));
  return body.text || `hne refused this (status ${response.status}).`;
}

async function lastFrame(reader, onProgress) {
  const frames = new FrameReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new CallError(GONE);
    for (const frame of frames.push(value)) {
      const end = concluded(frame, onProgress);
      if (end) return end;
    }
  }
}
