// What was tried, in the order in which it was first seen, and the way that led through it, to undo and redo.

import { keyOf } from "./requests.js";

const MOST_TRIED = 60;
const MOST_BYTES = 4e8;

export class Trail {
  constructor(mostTried = MOST_TRIED, mostBytes = MOST_BYTES) {
    Object.assign(this, { mostTried, mostBytes });
    this.entries = [];
    this.visited = []; // entries, one after the other
    this.at = -1; // of these
    this.number = 0;
  }

  get current() {
    return this.visited[this.at] || null;
  }

  get canUndo() {
    return this.at > 0;
  }

  get canRedo() {
    return this.at < this.visited.length - 1;
  }

  find(request) {
    const key = keyOf(request);
    return this.entries.find((entry) => entry.key === key) || null;
  }

  // A new entry { request, bytes, gesture, ... }, which becomes the current one. What a slider passes on its way
  // is one gesture: the last of it takes the place of those before.
  add(entry, isHeld = () => false) {
    const before = this.current;
    Object.assign(entry, { key: keyOf(entry.request), number: ++this.number });
    const isSameGesture = before && entry.gesture && before.gesture === entry.gesture && !isHeld(before);
    if (isSameGesture) {
      this.entries.splice(this.entries.indexOf(before), 1);
      this.visited = this.visited.slice(0, this.at).filter((one) => one !== before);
      this.at = this.visited.length - 1;
    }
    this.entries.push(entry);
    this.visit(entry);
    this.forget(isHeld);
    return entry;
  }

  // Go to an entry; what could be redone cannot any more.
  visit(entry) {
    if (entry === this.current) return;
    this.visited = [...this.visited.slice(0, this.at + 1), entry];
    this.at = this.visited.length - 1;
  }

  undo() {
    if (this.canUndo) this.at--;
    return this.current;
  }

  redo() {
    if (this.canRedo) this.at++;
    return this.current;
  }

  // Drop the oldest entries that are neither seen nor held, until the rest is few and small enough.
  forget(isHeld) {
    const total = () => this.entries.reduce((sum, entry) => sum + (entry.bytes || 0), 0);
    while (this.entries.length > this.mostTried || total() > this.mostBytes) {
      const oldest = this.entries.find((entry) => entry !== this.current && !isHeld(entry));
      if (!oldest) return;
      this.entries.splice(this.entries.indexOf(oldest), 1);
      this.at -= this.visited.slice(0, this.at).filter((entry) => entry === oldest).length;
      this.visited = this.visited.filter((entry) => entry !== oldest);
    }
  }
}
