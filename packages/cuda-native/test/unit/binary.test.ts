import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeTier } from '@zerohop/test-support';
import { expect, it, onTestFinished } from 'vitest';
import { binarySuite } from '../suites/binary-suite.js';
import { flaws } from '../support/binary-rules.js';
import { readSharedLibrary } from '../support/elf.js';

describeTier('unit', 'the binary', () => binarySuite(process.arch), { needs: ['addon'] });

/** Compiles `source` as a shared library in a folder of its own, where the libraries named in `linked` are. */
function compile(
  source: string,
  flags: string[],
  linked: Record<string, { source: string; map: string }> = {},
): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-elf-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const build = (name: string, code: string, more: string[]): void => {
    writeFileSync(join(folder, 'source.c'), code);
    const args = ['-shared', '-fPIC', '-w', 'source.c', '-o', name, ...more];
    execFileSync(process.env.CC ?? 'gcc', args, { cwd: folder, stdio: 'pipe' });
  };
  for (const [name, library] of Object.entries(linked)) {
    writeFileSync(join(folder, 'versions.map'), library.map);
    build(name, library.source, [`-Wl,-soname,${name}`, '-Wl,--version-script=versions.map']);
  }
  build('addon.node', source, [...Object.keys(linked).map((name) => `./${name}`), ...flags]);
  return readFileSync(join(folder, 'addon.node'));
}

const ENTRIES =
  'void *napi_register_module_v1(void) { return 0; } int node_api_module_get_api_version_v1(void) { return 8; }';
const GOOD_FLAGS = ['-Wl,-z,nodelete', '-Wl,--no-as-needed'];

describeTier(
  'unit',
  'the gate that reads binaries',
  () => {
    it('sees symbols newer than the floor, in any family and of any library', () => {
      const stub = (...versions: string[]) => ({
        source: versions.map((_, index) => `int later${index}(void) { return 0; }`).join('\n'),
        map: versions.map((version, index) => `${version} { global: later${index}; local: *; };`).join('\n'),
      });
      const file = compile(
        'int later0(void), later1(void); int (*keep[])(void) = { later0, later1 };',
        [...GOOD_FLAGS, '-fvisibility=hidden'],
        { 'libm.so.6': stub('GLIBC_2.29', 'GLIBC_2.28') },
      );
      expect(readSharedLibrary(file).versions).toContainEqual({ library: 'libm.so.6', version: 'GLIBC_2.28' });
      expect(flaws(file, process.arch).filter((flaw) => flaw.includes('old systems'))).toEqual([
        'it needs GLIBC_2.29 of libm.so.6, which old systems lack',
      ]);
      const other = compile('int later0(void); int (*keep)(void) = later0;', GOOD_FLAGS, {
        'libstdc++.so.6': stub('GLIBCXX_3.4.26'),
      });
      expect(flaws(other, process.arch)).toContain('it needs GLIBCXX_3.4.26 of libstdc++.so.6, which old systems lack');
      const unknown = compile('int later0(void); int (*keep)(void) = later0;', GOOD_FLAGS, {
        'libc.so.7': stub('LIBOTHER_1.0'),
      });
      expect(flaws(unknown, process.arch)).toContain('it needs LIBOTHER_1.0 of libc.so.7, which old systems lack');
    });

    it('sees what else makes a binary unfit', () => {
      const path = '/home/someone/zerohop/addon.cc';
      const file = compile(
        `int mine(void) { return 0; } const char *where = ${JSON.stringify(path)}; int later0(void); int (*keep)(void) = later0;`,
        ['-Wl,-rpath,/opt/lib', '-Wl,-z,execstack', '-Wl,--no-as-needed'],
        { 'libelse.so.1': { source: 'int later0(void) { return 0; }', map: 'ELSE_1.0 { global: *; };' } },
      );
      const found = flaws(file, process.arch === 'x64' ? 'arm64' : 'x64');
      for (const flaw of [
        `it is for the machine ${process.arch}`,
        'it links libelse.so.1',
        'it looks for libraries in /opt/lib',
        'it exports mine',
        'it does not export napi_register_module_v1',
        'it is unloaded with the last worker, while its threads run',
        'it makes the stack executable',
        `it holds the path ${path}`,
      ]) {
        expect(found).toContain(flaw);
      }
    });

    it('finds nothing wrong with one that is fit', () => {
      expect(flaws(compile(ENTRIES, GOOD_FLAGS), process.arch)).toEqual([]);
    });

    it('takes nothing else for a binary', () => {
      expect(() => readSharedLibrary(Buffer.from('#!/bin/sh\n'))).toThrow('not an ELF file');
    });
  },
  { needs: ['g++'] },
);
