import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeTier } from '@zerohop/test-support';
import { expect, it, onTestFinished } from 'vitest';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { run } from '../support/child.js';
import { copyPackage } from '../support/package-copy.js';

const source = fileURLToPath(new URL('../fixtures/no-external-buffers.c', import.meta.url));

describeTier('driver', 'a host that allows no external buffers', () => {
  it('is told by its own code, and nothing is left behind', async () => {
    const copy = copyPackage();
    const shim = join(copy.folder, 'no-external-buffers.so');
    execFileSync(process.env.CC ?? 'gcc', [
      '-std=c11',
      '-Wall',
      '-Wextra',
      '-Werror',
      '-fPIC',
      '-shared',
      '-o',
      shim,
      source,
    ]);
    const binaries = join('native', 'prebuilds', `linux-${process.arch}`);
    const [binary = ''] = readdirSync(join(copy.folder, binaries));
    // Node's own function comes before that of any library, so the copy calls another one, of a name as long.
    copy.replace(join(binaries, binary), 'napi_create_external_arraybuffer', 'napi_refuse_external_arraybuffer');
    const report = join(tmpdir(), `zerohop-refused-${process.pid}`);
    onTestFinished(() => rmSync(report, { force: true }));
    const ended = await run(
      `
        const { readdirSync, readFileSync, truncateSync, writeFileSync, rmSync } = await import('node:fs');
        const { setTimeout: pause } = await import('node:timers/promises');
        const { Device, SharedMemory } = await import(${JSON.stringify(copy.entry)});
        const key = '/zerohop-test-refused-' + process.pid;
        const device = await Device.open(0);
        writeFileSync('/dev/shm' + key + '-theirs', 'x'.repeat(4096));
        const live = () => JSON.parse(readFileSync(process.env.ZEROHOP_FAKE_REPORT, 'utf8'));
        const state = () => ({
          pinned: live().pinned,
          maps: readFileSync('/proc/self/maps', 'utf8').split('\\n').filter((line) => line.includes('/dev/shm/')).length,
          files: readdirSync('/proc/self/fd').length,
          names: readdirSync('/dev/shm').filter((name) => name.includes(key.slice(1))).length,
        });
        const before = state();
        const said = new Set();
        const refused = (promise) => promise.then(() => said.add('nothing'), (error) => {
          said.add(error.name + ' ' + error.code + ' ' + error.message);
        });
        for (let i = 0; i < 100; i += 1) {
          await refused(device.allocPinned(1 << 16));
          await refused(SharedMemory.create(key, 1 << 16));
          await refused(SharedMemory.open(key + '-theirs'));
        }
        for (let i = 0; i < 500 && JSON.stringify(state()) !== JSON.stringify(before); i += 1) await pause(10);
        console.log(JSON.stringify([before, state(), [...said]]));
        rmSync('/dev/shm' + key + '-theirs');
        // What needs no such buffer works.
        const marker = await SharedMemory.create(key, 0);
        const memory = await device.alloc(4096);
        const stream = device.createStream();
        await stream.copyToDevice(memory, new Uint8Array(4096).fill(3));
        const bytes = new Uint8Array(4096);
        await stream.copyToHost(bytes, memory);
        console.log(bytes[4095], marker.byteLength);
        marker.close();
        await Promise.all([stream.close(), memory.close()]);
      `,
      { ZEROHOP_LIBCUDA: buildFakeLibcuda(), ZEROHOP_FAKE_REPORT: report, LD_PRELOAD: shim },
    );
    expect(ended.stderr).toBe('');
    const [first = '', second] = ended.stdout.trim().split('\n');
    const [before, after, said] = JSON.parse(first) as [object, object, string[]];
    expect(said).toEqual([
      'Error ERR_NO_EXTERNAL_BUFFERS This host allows no ArrayBuffers over native memory: use a plain Node.js process',
    ]);
    expect(before).toMatchObject({ pinned: 0, maps: 0, names: 1 });
    expect(after).toEqual(before);
    expect(second).toBe('3 0');
  });
});
