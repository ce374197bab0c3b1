import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { newSharedMemoryPrefix, removeStale } from '../../src/shared-memory.js';

/** A file in /dev/shm as a server of that prefix would make it. */
function fileOf(prefix: string): string {
  const path = join('/dev/shm', `${prefix}test`);
  writeFileSync(path, '');
  onTestFinished(() => rmSync(path, { force: true }));
  return path;
}

describe('removeStale', () => {
  const own = newSharedMemoryPrefix();
  const [, , pid = '', start = '', namespace = '', nonce = ''] = own.split('-');
  const dead = String(spawnSync('true').pid);
  const prefix = (...parts: string[]) => `zerohop-triton-${parts.join('-')}-`;

  test('removes files of a process that has ended, or whose id another one has now', () => {
    const stale = [fileOf(prefix(dead, start, namespace, nonce)), fileOf(prefix(pid, '1', namespace, nonce))];
    removeStale(tmpdir());
    expect(stale.filter((path) => existsSync(path))).toEqual([]);
  });

  test('removes the folder of such a server', () => {
    const temporary = mkdtempSync(join(tmpdir(), 'zerohop-test-'));
    onTestFinished(() => rmSync(temporary, { recursive: true, force: true }));
    for (const name of [`${prefix(dead, start, namespace, nonce)}run`, `${own}run`, 'zerohop-triton-other']) {
      mkdirSync(join(temporary, name));
      writeFileSync(join(temporary, name, 'server.log'), '');
    }
    removeStale(temporary);
    expect(readdirSync(temporary).sort()).toEqual([`${own}run`, 'zerohop-triton-other'].sort());
  });

  test('leaves files of a process that runs, of another pid namespace, and what is not ours', () => {
    const kept = [
      fileOf(own),
      fileOf(prefix(dead, start, '1', nonce)),
      fileOf(prefix(dead, start, namespace, 'short')),
      fileOf(`not-${prefix(dead, start, namespace, nonce)}`),
    ];
    removeStale(tmpdir());
    expect(kept.filter((path) => !existsSync(path))).toEqual([]);
  });
});
