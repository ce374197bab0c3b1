/** Programs that compare our declarations with those of NVIDIA's headers. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';

/** Our own sources. */
export const core = fileURLToPath(new URL('../../native/src/core', import.meta.url));
const host = fileURLToPath(new URL('../host', import.meta.url));

export interface Compared {
  /** Whether it compiled and then ended well. */
  ok: boolean;
  output: string;
}

/**
 * A compiler of such programs.
 *
 * @param headers the folders of NVIDIA's, asked for when one is compiled
 * @param stub a source that is linked
 */
export function comparer(headers: () => string[], stub: string): (source: string) => Compared {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-signatures-'));
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return (source) => {
    const [program, file, other] = ['program', 'signatures.cc', 'stub.cc'].map((name) => join(folder, name));
    writeFileSync(file as string, source);
    writeFileSync(other as string, stub);
    const include = ['-I', core, '-I', host, ...headers().flatMap((each) => ['-isystem', each])];
    const args = ['-std=c++17', '-O0', ...include, '-o', program as string, file as string, other as string];
    const { status, stderr } = spawnSync(process.env.CXX ?? 'g++', args, { encoding: 'utf8' });
    return { ok: status === 0 && spawnSync(program as string).status === 0, output: stderr };
  };
}
