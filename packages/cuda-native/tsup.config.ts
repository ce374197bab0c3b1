import { copyFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { defineConfig } from 'tsup';
import { base } from '../../tsup.base.ts';

const { resolve } = createRequire(import.meta.url);

export default defineConfig({
  ...base,
  entry: ['src/index.ts', 'src/tensor.ts', 'src/nvjpeg.ts', 'src/ipc-self-test-peer.ts'],
  // The addon is compiled from these headers, and their licence asks to travel with every copy.
  async onSuccess() {
    copyFileSync(resolve('node-addon-api/LICENSE.md'), 'dist/node-addon-api.LICENSE');
  },
});
