import { defineConfig } from 'tsup';
import { base } from '../../tsup.base.ts';

// The local server launcher is a private package: it travels inside the published CLI.
export default defineConfig({ ...base, dts: false, entry: ['src/main.ts'], noExternal: ['@zerohop/local-triton'] });
