// Points -> pixels: discs with soft edges, or counts shaded by their logarithm. No graphics card is asked for.
// Arrays are in the order in which points are drawn.

const STEPS = 4; // stamps a pixel: a disc is drawn at the nearest quarter
const stamps = new Map();

// The pixels that a disc covers, for centers (fx, fy) quarters of a pixel right of and below one: where they are from
// there, and how much of 256 is covered, less what shines through a disc of this weight.
function stampsOf(radius, weight, width) {
  const key = `${Math.round(radius * 8)} ${weight} ${width}`;
  if (stamps.has(key)) return stamps.get(key);
  if (stamps.size > 200) stamps.clear();
  const half = Math.ceil(radius + 0.5);
  const masks = [];
  for (let fy = 0; fy < STEPS; fy++) {
    for (let fx = 0; fx < STEPS; fx++) {
      const cells = [];
      for (let dy = -half; dy <= half + 1; dy++) {
        for (let dx = -half; dx <= half + 1; dx++) {
          const inside = radius + 0.5 - Math.hypot(dx - fx / STEPS, dy - fy / STEPS);
          const cover = Math.round(weight * Math.min(1, Math.max(0, inside)));
          if (cover > 0) cells.push([dx, dy, cover]);
        }
      }
      const take = (kind, of) => kind.from(cells, of);
      masks.push({
        dx: take(Int16Array, (cell) => cell[0]),
        dy: take(Int16Array, (cell) => cell[1]),
        covers: take(Uint16Array, (cell) => cell[2]),
        offsets: take(Int32Array, (cell) => cell[1] * width + cell[0]),
      });
    }
  }
  const stamp = { reach: half + 1, masks };
  stamps.set(key, stamp);
  return stamp;
}

export class Raster {
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

  disc(x, y, color, stamp) {
    const { width, height, pixels } = this;
    const atX = Math.round(x * STEPS);
    const atY = Math.round(y * STEPS);
    const mask = stamp.masks[(atY & 3) * STEPS + (atX & 3)];
    const left = atX >> 2;
    const top = atY >> 2;
    const { reach } = stamp;
    const isInside = left >= reach && top >= reach && left < width - reach && top < height - reach;
    const { covers, offsets, dx, dy } = mask;
    const center = top * width + left;
    const rgb = color & 0xffffff;
    const even = rgb & 0xff00ff;
    const odd = rgb & 0x00ff00;
    for (let cell = 0; cell < covers.length; cell++) {
      if (!isInside) {
        const column = left + dx[cell];
        const row = top + dy[cell];
        if (column < 0 || row < 0 || column >= width || row >= height) continue;
      }
      const at = center + offsets[cell];
      const cover = covers[cell];
      const under = pixels[at];
      const alpha = under >>> 24;
      if (cover >= 255) {
        pixels[at] = 0xff000000 | rgb;
      } else if (alpha === 0) {
        pixels[at] = (cover << 24) | rgb;
      } else {
        // Porter and Duff's "over": of the color that results, this disc has the share `mine` of 256.
        const total = cover + ((alpha * (256 - cover)) >> 8);
        const mine = alpha === 255 ? cover : ((cover << 8) / total) | 0;
        const theirs = 256 - mine;
        const mixedEven = ((Math.imul(even, mine) + Math.imul(under & 0xff00ff, theirs)) >>> 8) & 0xff00ff;
        const mixedOdd = ((Math.imul(odd, mine) + Math.imul(under & 0x00ff00, theirs)) >>> 8) & 0x00ff00;
        pixels[at] = (total << 24) | mixedEven | mixedOdd;
      }
    }
  }

  // Discs of all points: those of level 1 faint and first, those of level 2 in full, level 0 not at all.
  discs(view, { xs, ys }, paint, radius, rim) {
    this.pixels.fill(0);
    const { scale, left, top } = view;
    const { levels, colors } = paint;
    const reach = radius + 2;
    const [right, bottom] = [this.width + reach, this.height + reach];
    const border = rim ? stampsOf(radius + rim, 190, this.width) : null;
    for (const level of paint.hasFaint ? [1, 2] : [2]) {
      const stamp = stampsOf(radius, level === 1 ? 40 : paint.weight, this.width);
      for (let i = 0; i < xs.length; i++) {
        if (levels[i] !== level) continue;
        const x = xs[i] * scale + left;
        const y = top - ys[i] * scale;
        if (!(x > -reach && y > -reach && x < right && y < bottom)) continue;
        if (border !== null && level === 2) this.disc(x, y, paint.paper, border);
        this.disc(x, y, colors[i], stamp);
      }
    }
    this.show();
  }

  // Counts a pixel, shaded by their logarithm; the color is that of the mean: of numbers, or of categories' colors.
  density(view, { xs, ys }, paint, splat) {
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
    for (let i = 0; i < xs.length; i++) {
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
