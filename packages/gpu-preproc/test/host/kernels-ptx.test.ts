import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describeTier } from '@zerohop/test-support';
import { expect, test } from 'vitest';

const script = fileURLToPath(new URL('../../scripts/build-kernels.mjs', import.meta.url));

describeTier('host', 'the committed PTX', () => {
  test('is what the sources give', () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--compare'], { encoding: 'utf8' });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  });
});
