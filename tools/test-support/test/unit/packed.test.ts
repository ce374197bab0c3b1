import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { repositoryRoot } from '../../src/index.js';

const pnpm = join(repositoryRoot, '.zerohop', 'tools', 'node_modules', '.bin', 'pnpm');
const published = [
  'apps/demo',
  'packages/cuda-native',
  'packages/gpu-postproc',
  'packages/gpu-preproc',
  'packages/shm-pool',
  'packages/triton-client',
];

test.each(published)('the tarball of %s carries its licence and notice, and runs nothing when installed', (folder) => {
  const target = mkdtempSync(join(tmpdir(), 'zerohop-pack-'));
  onTestFinished(() => rmSync(target, { recursive: true, force: true }));
  const options = { cwd: join(repositoryRoot, folder), encoding: 'utf8' } as const;
  const printed = execFileSync(pnpm, ['pack', '--json', '--pack-destination', target], options);
  const archive = join(target, basename(JSON.parse(printed).filename));
  const file = (name: string) => execFileSync('tar', ['-xzOf', archive, `package/${name}`], { encoding: 'utf8' });
  expect(file('LICENSE')).toBe(readFileSync(join(repositoryRoot, 'LICENSE'), 'utf8'));
  expect(file('NOTICE')).toMatch(/^Zerohop\nCopyright \d{4} The Zerohop authors\n/);
  const { scripts } = JSON.parse(file('package.json'));
  for (const name of ['preinstall', 'install', 'postinstall', 'prepare']) expect(scripts).not.toHaveProperty(name);
});
