import { defineConfig } from 'tsup';
import { base } from '../tsup.base.ts';

// Programs, not a library: nobody reads their types.
export default defineConfig({
  ...base,
  dts: false,
  entry: ['src/transports.ts', 'src/measure.ts', 'src/thousand.ts', 'src/report.ts'],
});
