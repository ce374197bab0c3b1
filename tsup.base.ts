import type { Options } from 'tsup';

/** What every package builds: ESM only, Node 20, types beside the code. */
export const base: Options = {
  format: ['esm'],
  target: 'node20',
  platform: 'node',
  dts: true,
  sourcemap: true,
  clean: true,
  splitting: true,
};
