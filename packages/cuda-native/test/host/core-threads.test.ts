/** The C++ core under ThreadSanitizer, over the fake driver, without Node. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeTier } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, it } from 'vitest';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const core = path('../../native/src/core/');
const fake = path('../fake-libcuda/');
const thread = ['-fsanitize=thread', '-g', '-O1', '-pthread'];

function sources(folder: string, ending: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name));
}

describeTier(
  'host',
  'the core under ThreadSanitizer',
  () => {
    let folder: string;

    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'zerohop-threads-'));
      // The compatibility symbols are for old systems, not for a program with a sanitizer's own.
      const parts = sources(core, '.cc').filter((name) => !name.endsWith('glibc_compat.cc'));
      execFileSync(process.env.CXX ?? 'g++', [
        ...['-std=c++17', '-fno-exceptions', ...thread, '-I', core],
        ...['-o', join(folder, 'core_threads'), path('core_threads.cc'), ...parts, '-ldl'],
      ]);
      execFileSync(process.env.CC ?? 'gcc', [
        ...['-std=c11', '-fPIC', '-shared', '-fvisibility=hidden', ...thread],
        ...['-o', join(folder, 'libcuda.so.1'), ...sources(fake, '.c')],
      ]);
    });
    afterAll(() => {
      rmSync(folder, { recursive: true, force: true });
    });

    function run(rounds: number, ...more: string[]): { status: number | null; stdout: string; stderr: string } {
      const args = [join(folder, 'libcuda.so.1'), path('../fixtures/kernels.ptx'), String(rounds), ...more];
      const env = { ...process.env, TSAN_OPTIONS: 'exitcode=66' };
      return spawnSync(join(folder, 'core_threads'), args, { encoding: 'utf8', env });
    }

    it('has no data race', () => {
      const { status, stdout, stderr } = run(20);
      expect(stderr).toBe('');
      expect(stdout).toBe('ok\n');
      expect(status).toBe(0);
    });

    it('would be told of one', () => {
      const { status, stderr } = run(1, 'race');
      expect(stderr).toContain('WARNING: ThreadSanitizer: data race');
      expect(status).toBe(66);
    });
  },
  { needs: ['g++'] },
);
