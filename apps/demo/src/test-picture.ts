/**
 * A picture that is the same on every machine: a grey sheet with grain, a few thin strokes, specks and blots. Only
 * whole-number arithmetic, so that the model's answer to it can be written down once.
 */
export function testPicture(width: number, height: number): Uint8Array {
  const data = new Uint8Array(width * height * 3);
  let noise = 0x2545f491;
  for (let y = 0, at = 0; y < height; y++) {
    const shade = 120 + Math.floor((y * 24) / height);
    for (let x = 0; x < width; x++, at += 3) {
      // Marsaglia's xorshift32.
      noise ^= noise << 13;
      noise ^= noise >>> 17;
      noise ^= noise << 5;
      const grey = shade + Math.floor((x * 16) / width) + ((noise >>> 29) - 4);
      data[at] = grey;
      data[at + 1] = grey;
      data[at + 2] = grey;
    }
  }
  const darken = (x: number, y: number, by: number): void => {
    if (x < 0 || y < 0 || x >= width || y >= height) return;
    const at = (y * width + x) * 3;
    data.fill(Math.max(0, (data[at] ?? 0) - by), at, at + 3);
  };
  for (let i = 0; i < marks.length; i++) {
    const mark = marks[i] as (typeof marks)[number];
    const left = Math.floor((mark.x * width) / 100);
    const top = Math.floor((mark.y * height) / 100);
    if (mark.kind === 'stroke') {
      for (let s = 0; s < mark.size; s++) {
        for (let t = 0; t < 3; t++) darken(left + s, top + Math.floor((s * mark.slope) / 100) + t, mark.by);
      }
    } else {
      for (let dy = -mark.size; dy <= mark.size; dy++) {
        for (let dx = -mark.size; dx <= mark.size; dx++) {
          const inside = mark.size * mark.size - dx * dx - dy * dy;
          if (inside > 0) darken(left + dx, top + dy, Math.ceil((mark.by * inside) / (mark.size * mark.size)));
        }
      }
    }
  }
  return data;
}

/** Positions in percent of the picture, sizes in pixels. */
const marks = [
  { kind: 'stroke', x: 20, y: 20, size: 300, slope: 35, by: 40 },
  { kind: 'stroke', x: 60, y: 70, size: 420, slope: -20, by: 30 },
  { kind: 'blot', x: 30, y: 60, size: 9, by: 60 },
  { kind: 'blot', x: 75, y: 25, size: 12, by: 70 },
  { kind: 'blot', x: 50, y: 45, size: 90, by: 30 },
] as const;
