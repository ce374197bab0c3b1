import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readEnvironment } from '../../src/environment.js';

function rootWith(files: Readonly<Record<string, string>>, pidNamespace?: string): string {
  const root = mkdtempSync(join(tmpdir(), 'zerohop-root-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const put = (path: string, make: (path: string) => void) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    make(join(root, path));
  };
  for (const [path, text] of Object.entries(files)) put(path, (at) => writeFileSync(at, text));
  if (pidNamespace !== undefined) put('proc/self/ns/pid', (at) => symlinkSync(pidNamespace, at));
  return root;
}

test.for<[string, Readonly<Record<string, string>>, boolean]>([
  ['a release that Microsoft builds', { 'proc/sys/kernel/osrelease': '5.15.153.1-microsoft-standard-WSL2\n' }, true],
  ['its version alone', { 'proc/version': 'Linux version 4.19.104-microsoft-standard (oe-user@oe-host)' }, true],
  ['a kernel of the user, with the GPU of WSL', { 'proc/sys/kernel/osrelease': '6.6.1-mine', 'dev/dxg': '' }, true],
  ["Ubuntu's release", { 'proc/sys/kernel/osrelease': '6.8.0-45-generic\n' }, false],
  ['the first WSL, which has no Linux kernel', { 'proc/version': 'Linux version 4.4.0-19041-Microsoft' }, false],
  ['nothing to read', {}, false],
])('WSL2 by %s', ([, files, wsl2]) => {
  expect(readEnvironment(rootWith(files)).wsl2).toBe(wsl2);
});

test.for<[string, string | undefined, boolean]>([
  ["the host's", 'pid:[4026531836]', false],
  ["a container's", 'pid:[4026532281]', true],
  ['one that cannot be read', undefined, false],
])('a PID namespace of its own: %s', ([, link, own]) => {
  expect(readEnvironment(rootWith({}, link)).ownPidNamespace).toBe(own);
});
