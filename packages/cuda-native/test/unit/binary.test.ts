import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeTier } from '@zerohop/test-support';
import { expect, it } from 'vitest';

const folder = fileURLToPath(new URL(`../../native/prebuilds/linux-${process.arch}`, import.meta.url));

function objdump(flag: string): string {
  const [file, ...more] = readdirSync(folder);
  expect(more).toEqual([]);
  return execFileSync('objdump', [flag, join(folder, file ?? '')], { encoding: 'utf8' });
}

/** The highest version of a symbol family, as [major, minor, patch]. */
function highest(symbols: string, family: string): number[] {
  const versions = Array.from(symbols.matchAll(new RegExp(`\\b${family}_([0-9.]+)`, 'g')), ([, version = '']) =>
    version.split('.').map(Number),
  );
  expect(versions.length).toBeGreaterThan(0);
  const key = ([major = 0, minor = 0, patch = 0]: number[]) => major * 1e6 + minor * 1e3 + patch;
  return versions.reduce((a, b) => (key(a) > key(b) ? a : b));
}

describeTier(
  'unit',
  'the binary',
  () => {
    it('runs on glibc 2.28 and the libstdc++ that Node needs', () => {
      const symbols = objdump('-T');
      const [glibcMajor, glibcMinor = 0] = highest(symbols, 'GLIBC');
      expect(glibcMajor).toBe(2);
      expect(glibcMinor).toBeLessThanOrEqual(28);
      const [major, minor, patch = 0] = highest(symbols, 'GLIBCXX');
      expect([major, minor]).toEqual([3, 4]);
      expect(patch).toBeLessThanOrEqual(25);
    });

    it('exports what Node-API loads, and nothing else', () => {
      const exported = objdump('-T')
        .split('\n')
        .filter((line) => /^[0-9a-f]{8,} /.test(line) && !line.includes('*UND*'))
        .map((line) => line.trim().split(/\s+/).at(-1));
      expect(exported.sort()).toEqual(['napi_register_module_v1', 'node_api_module_get_api_version_v1']);
    });

    it('links neither libcuda nor anything a bare system lacks', () => {
      const allowed = /^(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux[\w-]*)\.so\.\d+$/;
      const needed = Array.from(objdump('-p').matchAll(/NEEDED\s+(\S+)/g), ([, name = '']) => name);
      expect(needed.length).toBeGreaterThan(0);
      expect(needed.filter((name) => !allowed.test(name))).toEqual([]);
    });

    it('is small', () => {
      const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
      expect(bytes).toBeLessThan(400 * 1024);
    });
  },
  { needs: ['addon', 'g++'] },
);
