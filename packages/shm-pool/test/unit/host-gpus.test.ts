import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { gpusInFiles } from '../../src/host-gpus.js';

test.for([
  ['neither folder', [], 0],
  ["the driver's folder", ['proc/driver/nvidia/gpus/0000:0f:00.0', 'proc/driver/nvidia/gpus/0000:10:00.0'], 2],
  ['device files only', ['dev/nvidia0', 'dev/nvidia1', 'dev/nvidiactl', 'dev/nvidia-uvm', 'dev/nvidia-caps'], 2],
  ['more in one than in the other', ['proc/driver/nvidia/gpus/0000:0f:00.0', 'dev/nvidia0', 'dev/nvidia3'], 2],
] as const)('with %s', ([, files, gpus]) => {
  const root = mkdtempSync(join(tmpdir(), 'zerohop-host-gpus-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), '');
  }
  expect(gpusInFiles(root)).toBe(gpus);
});
