import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { flaws } from '../support/binary-rules.js';

/** What holds for the published binary of an architecture. */
export function binarySuite(arch: string): void {
  const folder = fileURLToPath(new URL(`../../native/prebuilds/linux-${arch}`, import.meta.url));

  it('is one file, named for glibc', () => {
    expect(readdirSync(folder)).toEqual(['cuda-native.glibc.node']);
  });

  it('runs on glibc 2.28, needs nothing a bare system lacks, exports only what Node-API loads, and is small', () => {
    const files = readdirSync(folder).map((name) => readFileSync(join(folder, name)));
    expect(files.flatMap((file) => flaws(file, arch))).toEqual([]);
  });
}
