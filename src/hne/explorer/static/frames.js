// Chunks of bytes -> frames { message, buffers }, however the bytes are cut. A frame: length of the JSON (uint32, little
// endian), the JSON, and the bytes of each buffer, whose lengths are in the JSON.

const LENGTH_BYTES = 4;

export class FrameReader {
  constructor() {
    this.chunks = [];
    this.have = 0;
    this.message = null; // of the frame that is being read
    this.buffers = [];
    this.length = -1; // of its JSON, where that is known
  }

  // Further bytes; the frames that are whole now.
  push(chunk) {
    this.chunks.push(chunk);
    this.have += chunk.byteLength;
    const frames = [];
    while (this.advance()) {
      if (!this.message || this.buffers.length < this.lengths().length) continue;
      frames.push({ message: this.message, buffers: this.buffers });
      [this.message, this.buffers, this.length] = [null, [], -1];
    }
    return frames;
  }

  get isBetween() {
    return this.have === 0 && this.length < 0;
  }

  lengths() {
    return this.message.buffers || [];
  }

  // Read the next part of a frame, if all of it is there.
  advance() {
    const wanted = this.wanted();
    if (this.have < wanted || (this.have === 0 && wanted > 0)) return false;
    const bytes = this.take(wanted);
    if (this.length < 0) this.length = new DataView(bytes.buffer).getUint32(0, true);
    else if (!this.message) this.message = JSON.parse(new TextDecoder().decode(bytes));
    else this.buffers.push(bytes.buffer);
    return true;
  }

  wanted() {
    if (this.length < 0) return LENGTH_BYTES;
    return this.message ? this.lengths()[this.buffers.length] : this.length;
  }

  take(count) {
    const taken = new Uint8Array(count);
    let filled = 0;
    while (filled < count) {
      const first = this.chunks[0];
      const part = first.subarray(0, count - filled);
      taken.set(part, filled);
      filled += part.byteLength;
      if (part.byteLength === first.byteLength) this.chunks.shift();
      else this.chunks[0] = first.subarray(part.byteLength);
    }
    this.have -= count;
    return taken;
  }
}
