// Points -> pixels: discs with soft edges, or counts shaded by their logarithm. No graphics card is asked for.

const STEPS = 4; // stamps a pixel: a disc is drawn at the nearest quarter
const stamps = new Map();

// Coverage, 0 to 256, of the pixels around a disc whose center is (fx, fy) quarters of a pixel right of and below one.
function stampsOf(radius) {
  const key = Math.round(radius * 8);
  if (stamps.has(key)) return stamps.get(key);
  const half = Math.ceil(radius + 1);
  const side = 2 * half + 1;
  const masks = [];
  for (let fy = 0; fy < STEPS; fy++) {
    for (let fx = 0; fx < STEPS; fx++) {
      const mask = new Uint16Array(side * side);
      for (let row = 0; row < side; row++) {
        for (let column = 0; column < side; column++) {
          const distance = Math.hypot(column - half - fx / STEPS, row - half - fy / STEPS);
          mask[row * side + column] = Math.round(256 * Math.min(1, Math.max(0, radius + 0.5 - distance)));
        }
      }
      masks.push(mask);
    }
  }
  const stamp = { half, side, masks };
  stamps.set(key, stamp);
  return stamp;
}

class Raster {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.resize(1, 1);
  }

  resize(width, height) {
    this.width = this.canvas.width = width;
    this.height = this.canvas.height = height;
    this.image = this.context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.counts = null;
  }

  show() {
    this.context.putImageData(this.image, 0, 0);
  }

  // One disc; weight is its opacity, 0 to 256.
  disc(x, y, color, stamp, weight) {
    const { half, side, masks } = stamp;
    const atX = Math.round(x * STEPS);
    const atY = Math.round(y * STEPS);
    const mask = masks[(atY & 3) * STEPS + (atX & 3)];
    const left = (atX >> 2) - half;
    const top = (atY >> 2) - half;
    const { width, height, pixels } = this;
    const fromRow = Math.max(0, -top);
    const toRow = Math.min(side, height - top);
    const fromColumn = Math.max(0, -left);
    const toColumn = Math.min(side, width - left);
    const rgb = color & 0xffffff;
    const [even, odd] = [rgb & 0xff00ff, rgb & 0x00ff00];
    for (let row = fromRow; row < toRow; row++) {
      let at = (top + row) * width + left + fromColumn;
      let cell = row * side + fromColumn;
      for (let column = fromColumn; column < toColumn; column++, at++, cell++) {
        const cover = (mask[cell] * weight) >> 8;
        if (cover === 0) continue;
        if (cover >= 255) {
          pixels[at] = 0xff000000 | rgb;
          continue;
        }
        const under = pixels[at];
        const alpha = under >>> 24;
        if (alpha === 0) {
          pixels[at] = (cover << 24) | rgb;
          continue;
        }
        // Porter and Duff's "over": of the color that results, this disc has the share `mine` of 256.
        const total = cover + ((alpha * (256 - cover)) >> 8);
        const mine = alpha === 255 ? cover : ((cover << 8) / total) | 0;
        const theirs = 256 - mine;
        const mixedEven = ((Math.imul(even, mine) + Math.imul(under & 0xff00ff, theirs)) >>> 8) & 0xff00ff;
        const mixedOdd = ((Math.imul(odd, mine) + Math.imul(under & 0x00ff00, theirs)) >>> 8) & 0x00ff00;
        pixels[at] = (Math.min(255, total) << 24) | mixedEven | mixedOdd;
      }
    }
  }

  // Discs of all points: those of level 1 faint and first, those of level 2 in full, level 0 not at all.
  discs(view, xs, ys, order, paint, radius, rim) {
    this.pixels.fill(0);
    const stamp = stampsOf(radius);
    const border = rim ? stampsOf(radius + rim) : null;
    const { scale, left, top } = view;
    const reach = radius + 2;
    for (const level of paint.hasFaint ? [1, 2] : [2]) {
      const weight = level === 1 ? 40 : paint.weight;
      for (let k = 0; k < n; k++) {
        const i = order[k];
        if (paint.levels[i] !== level) continue;
        const x = xs[i] * scale + left;
        const y = top - ys[i] * scale;
        if (!(x > -reach && y > -reach && x < this.width + reach && y < this.height + reach)) continue;
        if (border && level === 2) this.disc(x, y, paint.paper, border, 190);
        this.disc(x, y, paint.colors[i], stamp, weight);
      }
    }
    this.show();
  }

  // Counts a pixel, shaded by their logarithm; the color is that of the mean: of numbers, or of categories' colors.
  density(view, xs, ys, paint, splat) {
    const { width, height, pixels } = this;
    if (!this.counts) {
      this.counts = new Uint32Array(width * height);
      this.faint = new Uint8Array(width * height);
      this.sums = [0, 1, 2].map(() => new Float32Array(width * height));
    }
    const { counts, faint, sums } = this;
    const [first, second, third] = sums;
    counts.fill(0);
    faint.fill(0);
    for (const sum of sums) sum.fill(0);
    const { scale, left, top } = view;
    const { levels, share, colors } = paint;
    for (let i = 0; i < n; i++) {
      const x = Math.floor(xs[i] * scale + left);
      const y = Math.floor(top - ys[i] * scale);
      if (!(x >= 0 && y >= 0 && x + splat <= width && y + splat <= height) || levels[i] === 0) continue;
      for (let row = 0; row < splat; row++) {
        let at = (y + row) * width + x;
        for (let column = 0; column < splat; column++, at++) {
          if (levels[i] === 1) {
            faint[at] = 1;
          } else if (share) {
            if (share[i] === share[i]) {
              first[at] += share[i];
              second[at] += 1;
            }
            counts[at]++;
          } else {
            const color = colors[i];
            first[at] += color & 0xff;
            second[at] += (color >> 8) & 0xff;
            third[at] += (color >> 16) & 0xff;
            counts[at]++;
          }
        }
      }
    }
    let most = 1;
    for (let at = 0; at < counts.length; at++) if (counts[at] > most) most = counts[at];
    const shades = shadesOf(most);
    for (let at = 0; at < counts.length; at++) {
      const count = counts[at];
      if (count === 0) {
        pixels[at] = faint[at] ? 0x30888888 : 0;
        continue;
      }
      let rgb;
      if (share) rgb = second[at] ? paint.table[Math.round((first[at] / second[at]) * 255)] : paint.missing;
      else rgb = (third[at] / count) << 16 | ((second[at] / count) << 8) | (first[at] / count);
      pixels[at] = (shades[Math.min(count, shades.length - 1)] << 24) | (rgb & 0xffffff);
    }
    this.show();
    return most;
  }
}

// Opacity of a pixel by how many points it has: a single one is seen, and the fullest is opaque.
function shadesOf(most) {
  const shades = new Uint8Array(Math.min(most, 65535) + 1);
  for (let count = 1; count < shades.length; count++) {
    shades[count] = Math.round(255 * (0.3 + 0.7 * (most > 1 ? Math.log(count) / Math.log(most) : 1)));
  }
  return shades;
}
