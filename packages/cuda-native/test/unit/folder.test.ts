import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const require = createRequire(import.meta.url);

test('compiles in a folder with spaces and quotes in its name', () => {
  const parent = mkdtempSync(join(tmpdir(), 'zerohop-build-'));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  const folder = join(realpathSync(parent), "it's a (strange) & ä name");
  mkdirSync(folder);
  const native = join(folder, 'native');
  for (const name of ['binding.gyp', 'exports.map', 'src']) {
    cpSync(join(root, 'native', name), join(native, name), { recursive: true });
  }
  const headers = 'node_modules/node-addon-api';
  cpSync(dirname(require.resolve('node-addon-api')), join(folder, headers), { recursive: true, dereference: true });
  const prefix = resolve(process.execPath, '../..');
  const nodedir = existsSync(join(prefix, 'include/node/node_api.h')) ? [`--nodedir=${prefix}`] : [];
  const options = { cwd: native, stdio: 'pipe' } as const;
  execFileSync(process.execPath, [require.resolve('node-gyp/bin/node-gyp.js'), 'configure', ...nodedir], options);
  // What make hands to the compiler and the linker is in this file; a whole build takes ten times as long.
  expect(readFileSync(join(native, 'build/cuda_native.target.mk'), 'utf8')).not.toContain(folder);
  const object = 'Release/obj.target/cuda_native/src/core/status.o';
  execFileSync('make', ['-C', 'build', 'BUILDTYPE=Release', object], options);
  expect(existsSync(join(native, 'build', object))).toBe(true);
});
