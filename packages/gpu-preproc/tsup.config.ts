import { defineConfig } from 'tsup';
import { base } from '../../tsup.base.ts';

export default defineConfig({
  ...base,
  entry: ['src/index.ts', 'src/reference.ts', 'src/gpu.ts'],
  // All but what scripts/build-kernels.mjs put there.
  clean: ['!preproc.*'],
});
