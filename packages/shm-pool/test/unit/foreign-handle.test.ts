import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { exportFromChild } from '../../src/foreign-handle.js';

test('no process is started for a search that was aborted before', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-'));
  const { execPath } = process;
  onTestFinished(() => {
    process.execPath = execPath;
    rmSync(folder, { recursive: true });
  });
  process.execPath = join(folder, 'node');
  writeFileSync(process.execPath, `#!/bin/sh\ntouch ${folder}/started\n`, { mode: 0o755 });
  expect(await exportFromChild('GPU-0', AbortSignal.abort())).toBeUndefined();
  expect(readdirSync(folder)).toEqual(['node']);
});
