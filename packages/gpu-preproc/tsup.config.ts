import { defineConfig } from 'tsup';
import { base } from '../../tsup.base.ts';

export default defineConfig({
  ...base,
  entry: {
    index: 'src/index.ts',
    reference: 'src/reference.ts',
    gpu: 'src/gpu.ts',
    worker: 'src/cpu/worker.ts',
    cpu: 'src/cpu/convert.ts',
  },
  // All but what scripts/build-kernels.mjs put there.
  clean: ['!preproc.*'],
});
