import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describeTier, repositoryRoot } from '@zerohop/test-support';
import { expect, onTestFinished, test } from 'vitest';

const run = promisify(execFile);
const backend = join(repositoryRoot, 'bench', 'backend');
const here = join(repositoryRoot, 'bench', 'test', 'host');

describeTier(
  'host',
  'the native backend',
  () => {
    test('serves every request right on either path, between doubles of the server and the driver, under sanitizers', async () => {
      const scratch = mkdtempSync(join(tmpdir(), 'zerohop-bench-host-'));
      onTestFinished(() => rmSync(scratch, { recursive: true, force: true }));
      const compiler = process.env.CXX ?? 'g++';
      const sources = readdirSync(join(backend, 'src')).filter((name) => /\.(cpp|S)$/.test(name));
      const common = ['-std=c++17', '-O1', '-g', '-Wall', '-Wextra'];
      await run(compiler, [
        ...common,
        '-fPIC',
        '-shared',
        '-o',
        join(scratch, 'libcuda.so.1'),
        join(here, 'driver_double.cpp'),
      ]);
      await run(compiler, [
        ...[...common, '-fsanitize=address,undefined', '-fno-sanitize-recover=all', '-I', join(backend, 'src')],
        ...['-Wa,-I', `-Wa,${join(backend, 'kernels')}`, join(here, 'server_double.cpp')],
        ...[...sources.map((name) => join(backend, 'src', name)), '-ldl', '-o', join(scratch, 'program')],
      ]);
      const { stdout } = await run(join(scratch, 'program'), [], {
        // The leak check needs ptrace, which some sandboxes refuse.
        env: { ...process.env, LD_LIBRARY_PATH: scratch, ASAN_OPTIONS: 'detect_leaks=0' },
      });
      expect(stdout).toBe('');
    });
  },
  { needs: ['g++'] },
);
