import { defineConfig } from 'tsup';
import { base } from '../tsup.base.ts';

// Programs, not a library: nobody reads their types.
export default defineConfig({
  ...base,
  dts: false,
  entry: [
    'src/transports.ts',
    'src/measure.ts',
    'src/thousand.ts',
    'src/report.ts',
    'src/client.ts',
    'src/client/measure.ts',
    'src/cuda.ts',
    'src/cuda/ours.ts',
    'src/cuda/loop-delay.ts',
    'src/cycles.ts',
    'src/soak.ts',
    'src/pool.ts',
    'src/pool/figures.ts',
    'src/preproc.ts',
    'src/kernel-tour.ts',
    'src/jpeg-fuzz.ts',
    'src/devserver.ts',
    'src/devserver/serve.ts',
  ],
});
