import { execFile } from 'node:child_process';
import { chmodSync, chownSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describeTier } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { DevServer } from '@zerohop/triton-devserver';
import { expect, onTestFinished, test } from 'vitest';
import type { ReapReport } from '../../src/index.js';
import { EntryNames, regionName } from '../../src/names.js';
import { gone } from '../support/abandoned.js';
import { echoModel } from '../support/dev-server.js';

const reaper = fileURLToPath(new URL('../fixtures/reaper.mjs', import.meta.url));
const NOBODY = 65_534;

/** Runs a program that may not open what belongs to others, root or not. */
const WITHOUT_PRIVILEGES = ['--bounding-set=-dac_override,-dac_read_search,-fowner'];

describeTier(
  'host',
  "another user's leftovers",
  () => {
    test('are left where they are, and reported; a pool opens all the same', async () => {
      await using server = await DevServer.start({ models: { identity: echoModel } });
      await using client = new TritonClient(server.grpcUrl);
      const entry = new EntryNames(gone).next();
      const path = `/dev/shm/${entry}`;
      writeFileSync(path, new Uint8Array(4096), { mode: 0o600 });
      onTestFinished(() => rmSync(path));
      const name = regionName(entry, 0);
      await client.systemSharedMemory.register({ name, key: `/${entry}`, byteLength: 4096 });
      const root = process.getuid?.() === 0;
      if (root) chownSync(path, NOBODY, NOBODY);
      else chmodSync(path, 0);

      const options = JSON.stringify({ model: 'identity', slots: 1, transport: 'system' });
      const program = [process.execPath, reaper, server.grpcUrl, options];
      const [command = '', ...args] = root ? ['setpriv', ...WITHOUT_PRIVILEGES, ...program] : program;
      const { stdout } = await promisify(execFile)(command, args);
      const report = JSON.parse(stdout) as ReapReport;
      expect(report.left).toContainEqual({ name: entry, reason: expect.stringContaining('EACCES') as string });
      expect(existsSync(path)).toBe(true);
      expect((await client.systemSharedMemory.status()).map((region) => region.name)).toEqual([name]);
    });
  },
  { needs: ['addon', 'setpriv'] },
);
