// What the fake nvJPEG does with pictures (fake_nvjpeg.h).

function fnv(bytes) {
  let state = 2166136261;
  for (const byte of bytes) state = Math.imul(state ^ byte, 16777619) >>> 0;
  return state;
}

export function pattern(file) {
  const seed = fnv(file);
  return (c, x, y) => ((seed >>> (8 * c)) + x + 3 * y) & 255;
}

export function comment(quality, pixels) {
  return `quality ${String(quality).padStart(3)} hash ${fnv(pixels).toString(16).padStart(8, '0')}`;
}
