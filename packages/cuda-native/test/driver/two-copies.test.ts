import { fileURLToPath } from 'node:url';
import { describeTier } from '@zerohop/test-support';
import { expect, it } from 'vitest';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { type Outcome, run } from '../support/child.js';
import { copyPackage } from '../support/package-copy.js';

const ZEROHOP_LIBCUDA = buildFakeLibcuda();
const kernels = fileURLToPath(new URL('../fixtures/kernels.fatbin', import.meta.url));

/** Runs `code`, which finds the package as `zerohop` and its copy as `copy`, each with a device and a stream. */
function runBoth(entry: string, code: string): Promise<Outcome> {
  return run(
    `
      import assert from 'node:assert/strict';
      import { readFileSync } from 'node:fs';
      const copy = await import(${JSON.stringify(entry)});
      assert.notEqual(copy.Device, zerohop.Device);
      const image = readFileSync(${JSON.stringify(kernels)});
      const device = await zerohop.Device.open(0);
      const copied = await copy.Device.open(0);
      const stream = device.createStream();
      const other = copied.createStream();
      const key = '/zerohop-test-copies-' + process.pid;
      const read = async (memory) => {
        const bytes = new Uint8Array(memory.byteLength);
        await stream.copyToHost(bytes, memory);
        return bytes;
      };
      ${code}
    `,
    { ZEROHOP_LIBCUDA },
  );
}

async function expectFine(entry: string, code: string): Promise<void> {
  const { stderr, stdout, code: status } = await runBoth(entry, `${code}\nconsole.log('fine');`);
  expect(stderr).toBe('');
  expect([stdout.trim(), status]).toEqual(['fine', 0]);
}

describeTier('driver', 'two copies of the package in one process', () => {
  it('take each other’s memory, pinned buffers, events and shared memory', async () => {
    await expectFine(
      copyPackage().entry,
      `
        const [mine, theirs] = [await device.alloc(4096), await copied.alloc(4096)];
        const [pinned, buffer] = [await copied.allocPinned(4096), (await device.allocPinned(4096)).buffer];
        const event = copied.createEvent({ timing: true });
        const start = device.createEvent({ timing: true });
        stream.record(start);
        other.wait(start);
        other.fill(theirs.slice(0, 2048), 1);
        other.fill(theirs.slice(2048, 2048), 2);
        other.record(event);
        stream.wait(event);
        stream.copy(mine, theirs);
        stream.copyToHost(pinned, mine);
        await stream.done();
        const bytes = new Uint8Array(pinned.buffer);
        assert.deepEqual([bytes[0], bytes[2047], bytes[2048], bytes[4095]], [1, 1, 2, 2]);
        assert.ok(event.elapsedMs(start) >= 0);
        // A view of pinned memory: the copy knows that it is, so it is only enqueued.
        new Uint8Array(buffer).fill(9);
        other.copyToDevice(theirs, new Uint8Array(buffer));
        other.copy2d({ dst: mine, src: pinned, dstPitch: 64, srcPitch: 64, width: 64, height: 64 });
        await other.done();
        assert.deepEqual([(await read(theirs))[4095], (await read(mine))[4095]], [9, 2]);
        // Closing waits for the other copy's work.
        process.env.ZEROHOP_FAKE_WORK_DELAY_US = '50000';
        other.fill(mine, 4);
        stream.copyToHost(pinned, theirs);
        await Promise.all([mine.close(), pinned.close()]);
        process.env.ZEROHOP_FAKE_WORK_DELAY_US = '';
        assert.equal(device.contextLost, false);

        const shared = await zerohop.SharedMemory.create(key, 4096);
        const registered = await copied.registerHost(shared);
        assert.throws(() => shared.close(), { code: 'ERR_BUSY' });
        new Uint8Array(shared.buffer).fill(5);
        stream.copyToDevice(theirs, new Uint8Array(shared.buffer));
        await stream.done();
        await registered.close();
        const copying = other.copyToHost(new Uint8Array(shared.buffer), theirs);
        assert.throws(() => shared.close(), { code: 'ERR_BUSY' });
        await copying;
        shared.close();
        assert.equal((await read(theirs))[0], 5);
        await Promise.all([theirs, event, start, stream, other].map((each) => each.close()));
      `,
    );
  });

  it('take each other’s devices, kernels and graphs, and see what a capture of the other uses', async () => {
    await expectFine(
      copyPackage().entry,
      `
        const [second, secondCopied] = [await zerohop.Device.open(1), await copy.Device.open(1)];
        assert.equal(device.canAccessPeer(secondCopied), true);
        await copied.enablePeerAccess(second);
        assert.equal(copied.hasPeerAccessTo(secondCopied), true);
        const module = await copied.loadModule(image);
        const fill = await module.kernel('fill_u32', ['pointer', 'u32', 'u32']);
        const memory = await device.alloc(400);
        const far = await second.alloc(400);
        stream.launch(fill, { grid: 1, block: 100 }, memory, 7, 100);
        // Whether the kernel's device reaches it is asked of the kernel's device.
        other.launch(fill, { grid: 1, block: 100 }, far, 8, 100);
        await other.done();
        assert.equal((await read(memory))[396], 7);

        const event = copied.createEvent();
        const joined = device.createEvent();
        const between = await copied.alloc(400);
        const graph = await stream.capture(() => {
          assert.throws(() => other.query(), { code: 'ERR_BUSY' });
          stream.record(joined);
          other.wait(joined);
          other.launch(fill, { grid: 1, block: 100 }, between, 9, 100);
          other.record(event);
          stream.wait(event);
          stream.copy(memory, between);
        });
        other.launchGraph(graph);
        await other.done();
        assert.equal((await read(memory))[396], 9);
        await between.close();
        assert.throws(() => stream.launchGraph(graph), /This DeviceMemory, which the Graph uses, is closed/);
        await Promise.all([graph, module, memory, far, event, joined, stream, other].map((each) => each.close()));
      `,
    );
  });

  it('know each other’s objects and errors by instanceof', async () => {
    await expectFine(
      copyPackage().entry,
      `
        const made = {
          Device: device,
          DeviceMemory: await device.alloc(64),
          PinnedMemory: await device.allocPinned(64),
          SharedMemory: await zerohop.SharedMemory.create(key, 64),
          Stream: stream,
          Event: device.createEvent(),
          Module: await device.loadModule(image),
        };
        made.Kernel = await made.Module.kernel('spin', ['u64']);
        made.Graph = await stream.capture(() => stream.fill(made.DeviceMemory, 1));
        for (const name of Object.keys(made)) {
          for (const [kind, object] of Object.entries(made)) {
            assert.equal(object instanceof copy[name], kind === name, kind + ' instanceof ' + name);
          }
          assert.equal({} instanceof copy[name], false);
          assert.equal(null instanceof copy[name], false);
        }
        const error = await device.alloc(2 ** 50).catch((thrown) => thrown);
        assert.ok(error instanceof copy.CudaError && error instanceof Error);
        assert.equal(error instanceof copy.DisposedError, false);
        await made.Graph.close();
        for (const name of ['DeviceMemory', 'PinnedMemory', 'Event', 'Module', 'SharedMemory']) await made[name].close();
        await assert.rejects(async () => other.fill(made.DeviceMemory, 1), zerohop.DisposedError);
        await Promise.all([stream.close(), other.close()]);
      `,
    );
  });

  it('with other insides are told apart in one sentence that names both versions', async () => {
    const second = copyPackage();
    second.replace('package.json', '"version": "0.1.0"', '"version": "0.2.5"');
    second.replace('dist', 'var ABI = 1;', 'var ABI = 2;');
    // The copy's own check of its binary, which still is of the other number.
    second.replace('dist', 'if (native.abi !== ABI)', 'if (native.abi !== ABI - 1)');
    await expectFine(
      second.entry,
      `
        const sentence = (kind, name, mine, theirs) => ({
          name: 'TypeError',
          message: 'Expected ' + kind + ' of @zerohop/cuda-native ' + mine + ' for ' + name + ' but received one of version ' +
            theirs + ': have one version installed ("npm ls @zerohop/cuda-native" lists them)',
        });
        const refuse = (kind, name, call) =>
          assert.rejects(async () => call(), sentence(kind, name, '0.1.0 (ABI 1)', '0.2.5 (ABI 2)'));
        const memory = await copied.alloc(64);
        const module = await copied.loadModule(image);
        const kernel = await module.kernel('spin', ['u64']);
        const shared = await copy.SharedMemory.create(key, 64);
        const pinned = await copied.allocPinned(64);
        const event = copied.createEvent();
        const graph = await other.capture(() => {});
        await refuse('DeviceMemory', 'dst', () => stream.fill(memory, 1));
        await refuse('DeviceMemory', 'src', () => stream.copyToHost(new Uint8Array(64), memory));
        await refuse('Kernel', 'kernel', () => stream.launch(kernel, { grid: 1, block: 1 }, 1));
        await refuse('Event', 'event', () => stream.record(event));
        await refuse('Graph', 'graph', () => stream.launchGraph(graph));
        await refuse('Device', 'other', () => device.canAccessPeer(copied));
        await refuse('SharedMemory', 'memory', () => device.registerHost(shared));
        const mine = await device.alloc(64);
        await refuse('PinnedMemory', 'src', () => stream.copyToDevice(mine, pinned));
        await assert.rejects(async () => other.fill(mine, 1), sentence('DeviceMemory', 'dst', '0.2.5 (ABI 2)', '0.1.0 (ABI 1)'));
        // A view of its pinned memory is ordinary memory here.
        new Uint8Array(pinned.buffer).fill(6);
        await stream.copyToDevice(mine, new Uint8Array(pinned.buffer));
        assert.equal((await read(mine))[63], 6);
        assert.ok(memory instanceof zerohop.DeviceMemory);
        shared.close();
        await Promise.all([memory, module, pinned, event, graph, mine, stream, other].map((each) => each.close()));
      `,
    );
  });

  it('with a binary of another number beside the code is refused as a whole', async () => {
    const second = copyPackage();
    second.replace('dist', 'var ABI = 1;', 'var ABI = 2;');
    const { stdout } = await run(
      `const copy = await import(${JSON.stringify(second.entry)});
       const error = await copy.SharedMemory.create('/never-made', 1).catch((thrown) => thrown);
       console.log(error.code, error.message);`,
    );
    expect(stdout).toContain('ERR_NATIVE_UNAVAILABLE');
    expect(stdout).toContain('the binary has ABI 1, the code beside it ABI 2');
  });
});
