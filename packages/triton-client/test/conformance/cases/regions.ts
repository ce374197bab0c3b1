import { expect, onTestFinished } from 'vitest';
import { region, tensor } from '../../../src/index.js';
import type { Block } from '../block.js';
import { accepted, type ConformanceCase, refused } from '../case.js';
import type { Context, Held } from '../context.js';
import { addSub } from './requests.js';

const BYTES = 64;
const UNKNOWN = 'zerohop-conformance-unknown';
const HANDLE = new Uint8Array(64);

/** Four blocks of 64 bytes: two inputs, two outputs, in one region. */
function inRegion(block: Block, byteOffset = 0) {
  const input = (index: number) =>
    region(block.name, { datatype: 'INT32', shape: [1, 16], byteOffset: byteOffset + index * BYTES });
  const output = (index: number) => ({ region: block.name, byteOffset: byteOffset + index * BYTES, byteLength: BYTES });
  return { inputs: { INPUT0: input(0), INPUT1: input(1) }, outputs: { OUTPUT0: output(2), OUTPUT1: output(3) } };
}

/** A request under way that reads and writes `block`. */
function inUse(context: Context, block: Block): Promise<Held> {
  return context.hold({
    inputs: { INPUT0: region(block.name, { datatype: 'INT32', shape: [1, 1] }) },
    outputs: { OUTPUT0: { region: block.name, byteOffset: 8, byteLength: 8 } },
  });
}

/** Calls on regions, and inference with tensors in them. */
export const regionCases: readonly ConformanceCase[] = [
  accepted('system-status', 'one region, all regions', async (context) => {
    const block = await context.block(4096);
    const expected = { name: block.name, key: block.key, byteOffset: 0, byteLength: 4096 };
    expect(await context.client.systemSharedMemory.status(block.name)).toEqual([expected]);
    expect(await context.client.systemSharedMemory.status()).toContainEqual(expected);
  }),
  refused('system-status', 'restricted', async (context) => {
    const call = context.openLocked().systemSharedMemory.status();
    await context.refusal(call, { code: 'TRITON_UNAVAILABLE', details: 'restricted, expecting header' });
  }),
  accepted('system-register', 'part of an object', async (context) => {
    const block = context.unregistered(8192);
    const { systemSharedMemory } = context.client;
    await systemSharedMemory.register({ name: block.name, key: block.key, byteLength: 4096 });
    onTestFinished(() => systemSharedMemory.unregister(block.name));
    expect(await systemSharedMemory.status(block.name)).toMatchObject([{ byteLength: 4096 }]);
  }),
  refused('system-register', 'restricted', async (context) => {
    const block = context.unregistered(64);
    const call = context.openLocked().systemSharedMemory.register({ name: block.name, key: block.key, byteLength: 64 });
    await context.refusal(call, { code: 'TRITON_UNAVAILABLE', details: 'restricted, expecting header' });
  }),
  accepted('system-unregister', 'one, and all that are left', async (context) => {
    const { systemSharedMemory } = context.client;
    const [first, second, third] = [await context.block(64), await context.block(64), await context.block(64)];
    await systemSharedMemory.unregister(first.name);
    const names = async () => (await systemSharedMemory.status()).map(({ name }) => name).sort();
    expect(await names()).toEqual([second.name, third.name].sort());
    await systemSharedMemory.unregisterAll();
    expect(await names()).toEqual([]);
  }),
  refused('system-unregister', 'an empty name, which would mean all', (context) =>
    context.refusedByClient(
      () => context.client.systemSharedMemory.unregister(''),
      TypeError,
      'non-empty string for name',
    ),
  ),
  accepted('cuda-status', 'none here', async (context) => {
    expect(await context.client.cudaSharedMemory.status()).toEqual([]);
  }),
  refused('cuda-status', 'restricted', async (context) => {
    const call = context.openLocked().cudaSharedMemory.status();
    await context.refusal(call, { code: 'TRITON_UNAVAILABLE', details: 'restricted, expecting header' });
  }),
  refused('cuda-register', 'restricted', async (context) => {
    const region = { name: UNKNOWN, rawHandle: HANDLE, deviceId: 0, byteLength: 64 };
    const call = context.openLocked().cudaSharedMemory.register(region);
    await context.refusal(call, { code: 'TRITON_UNAVAILABLE', details: 'restricted, expecting header' });
  }),
  accepted('cuda-unregister', 'a name never registered, and all', async (context) => {
    await context.client.cudaSharedMemory.unregister(UNKNOWN);
    await context.client.cudaSharedMemory.unregisterAll();
    expect(await context.client.cudaSharedMemory.status()).toEqual([]);
  }),
  refused('cuda-unregister', 'an empty name, which would mean all', (context) =>
    context.refusedByClient(
      () => context.client.cudaSharedMemory.unregister(''),
      TypeError,
      'non-empty string for name',
    ),
  ),

  accepted('shm-tensors', 'in and out of one region, at offsets', async (context) => {
    const block = await context.block(4096);
    block.write(
      256,
      Int32Array.from({ length: 16 }, (_, index) => index),
    );
    block.write(256 + BYTES, new Int32Array(16).fill(10));
    await context.answeredRequest('add_sub', inRegion(block, 256), (result) => {
      const { datatype, shape, bytes } = result.output('OUTPUT0');
      expect([datatype, shape, bytes.byteLength]).toEqual(['INT32', [1, 16], 0]);
      expect(block.int32(256 + 2 * BYTES, 16)).toEqual(Array.from({ length: 16 }, (_, index) => index + 10));
      expect(block.int32(256 + 3 * BYTES, 2)).toEqual([-10, -9]);
    });
  }),
  accepted('shm-tensors', 'one input in a region, one in the message, in both orders', async (context) => {
    const block = await context.block(4096);
    block.write(0, new Int32Array(16).fill(5));
    const [shared, inMessage] = [inRegion(block).inputs.INPUT0, tensor('INT32', [1, 16], new Int32Array(16).fill(2))];
    const outputs = { OUTPUT1: {}, OUTPUT0: { region: block.name, byteOffset: 1024, byteLength: BYTES } };
    for (const [inputs, difference] of [
      [{ INPUT0: shared, INPUT1: inMessage }, 3],
      [{ INPUT0: inMessage, INPUT1: shared }, -3],
      [{ INPUT1: shared, INPUT0: inMessage }, -3],
    ] as const) {
      await context.answeredRequest('add_sub', { inputs, outputs }, (result) => {
        expect(result.output('OUTPUT1').data[0]).toBe(difference);
        expect(block.int32(1024, 1)).toEqual([7]);
      });
    }
  }),
  refused('shm-tensors', 'an input block that is not exactly the tensor’s size', async (context) => {
    const block = await context.block(4096);
    const { inputs } = inRegion(block);
    await context.refusedByClient(
      () =>
        context.client.infer('add_sub', { inputs: { ...inputs, INPUT1: { ...inputs.INPUT1, byteLength: 2 * BYTES } } }),
      RangeError,
      /64 bytes .* the size of input 'INPUT1'/,
    );
  }),

  accepted('register-name-in-use', 'free again once it is unregistered', async (context) => {
    const { systemSharedMemory } = context.client;
    const block = await context.block(64);
    await systemSharedMemory.unregister(block.name);
    await systemSharedMemory.register({ name: block.name, key: block.key, byteLength: 64 });
  }),
  refused('register-name-in-use', 'by a system region, for both kinds', async (context) => {
    const [block, other] = [await context.block(64), context.unregistered(64)];
    const { systemSharedMemory, cudaSharedMemory } = context.client;
    const expected = {
      code: 'TRITON_ALREADY_EXISTS',
      region: block.name,
      details: `shared memory region '${block.name}' already in manager`,
    } as const;
    const cuda = { name: block.name, rawHandle: HANDLE, deviceId: 0, byteLength: 64 };
    await context.refusal(systemSharedMemory.register({ name: block.name, key: other.key, byteLength: 64 }), expected);
    await context.refusal(cudaSharedMemory.register(cuda), expected);
    expect(await systemSharedMemory.status()).toHaveLength(1);
  }),
  refused('register-cuda-bad-handle', 'bytes that are no handle', async (context) => {
    const bad = { name: UNKNOWN, rawHandle: HANDLE, deviceId: 0, byteLength: 64 };
    await context.refusal(context.client.cudaSharedMemory.register(bad), {
      code: 'TRITON_INVALID_ARGUMENT',
      details: 'failed to register shared memory region: invalid args',
    });
  }),
  refused('register-cuda-handle-length', 'refused by the client', (context) =>
    context.refusedByClient(
      () =>
        context.client.cudaSharedMemory.register({
          name: UNKNOWN,
          rawHandle: HANDLE.subarray(0, 10),
          deviceId: 0,
          byteLength: 64,
        }),
      RangeError,
      '64 bytes for rawHandle',
    ),
  ),
  accepted('register-key-missing', 'once the object is there', async (context) => {
    expect(await context.client.systemSharedMemory.status((await context.block(64)).name)).toHaveLength(1);
  }),
  refused('register-key-missing', 'no such object', async (context) => {
    const call = context.client.systemSharedMemory.register({ name: UNKNOWN, key: `/${UNKNOWN}`, byteLength: 64 });
    await context.refusal(call, {
      code: 'TRITON_INTERNAL',
      details: `Unable to open shared memory region: '/${UNKNOWN}'`,
      region: UNKNOWN,
    });
  }),
  accepted('register-key-twice', 'the key anew, once its first name is gone', async (context) => {
    const block = await context.block(64);
    const { systemSharedMemory } = context.client;
    await systemSharedMemory.unregister(block.name);
    const name = `${block.name}-again`;
    await systemSharedMemory.register({ name, key: block.key, byteLength: 64 });
    onTestFinished(() => systemSharedMemory.unregister(name));
    expect(await systemSharedMemory.status(name)).toMatchObject([{ key: block.key }]);
  }),
  refused(
    'register-key-twice',
    'a second name: by the client, also one that did not register the first',
    async (context) => {
      const block = await context.block(64);
      const region = { name: `${block.name}-again`, key: block.key, byteLength: 64 };
      for (const client of [context.client, context.open()]) {
        await context.refusal(client.systemSharedMemory.register(region), { code: 'TRITON_SHM_KEY_IN_USE' });
      }
      expect(await context.client.systemSharedMemory.status()).toHaveLength(1);
    },
  ),
  accepted('register-key-reserved', 'a key without a slash', async (context) => {
    const block = context.unregistered(64);
    const { systemSharedMemory } = context.client;
    await systemSharedMemory.register({ name: block.name, key: block.name, byteLength: 64 });
    onTestFinished(() => systemSharedMemory.unregister(block.name));
    expect(await systemSharedMemory.status(block.name)).toMatchObject([{ key: block.name }]);
  }),
  refused('register-key-reserved', 'the prefix of the Python backend: by the client', async (context) => {
    for (const key of ['/triton_python_backend_shm_region_1', 'triton_python_backend_shm_region_1']) {
      const call = Promise.resolve().then(() =>
        context.client.systemSharedMemory.register({ name: UNKNOWN, key, byteLength: 64 }),
      );
      await expect(call).rejects.toMatchObject({ code: 'TRITON_UNSAFE_REQUEST' });
    }
  }),
  accepted('register-too-large', 'all of the object', async (context) => {
    const block = await context.block(12_288);
    expect(await context.client.systemSharedMemory.status(block.name)).toMatchObject([{ byteLength: 12_288 }]);
  }),
  refused('register-too-large', 'one byte more than the object', async (context) => {
    const block = context.unregistered(4096);
    const call = context.client.systemSharedMemory.register({ name: block.name, key: block.key, byteLength: 4097 });
    await context.refusal(call, {
      code: 'TRITON_INVALID_ARGUMENT',
      region: block.name,
      details: `failed to register shared memory region '${block.name}': invalid args`,
    });
  }),
  accepted('register-unmappable', 'a size that is no multiple of a page', async (context) => {
    expect(await context.client.systemSharedMemory.status((await context.block(5)).name)).toMatchObject([
      { byteLength: 5 },
    ]);
  }),
  refused('register-unmappable', 'size 0, by the client; an offset does not exist', async (context) => {
    const block = context.unregistered(64);
    for (const byteLength of [0, -1]) {
      const region = { name: block.name, key: block.key, byteLength };
      await context.refusedByClient(() => context.client.systemSharedMemory.register(region), RangeError, 'byteLength');
    }
  }),
  refused('register-incomplete', 'no name, no key, no size, no handle: by the client', async (context) => {
    const { systemSharedMemory, cudaSharedMemory } = context.client;
    const system = { name: UNKNOWN, key: '/k', byteLength: 64 };
    const cuda = { name: UNKNOWN, rawHandle: HANDLE, deviceId: 0, byteLength: 64 };
    for (const lacking of [{ name: '' }, { key: '' }, { byteLength: undefined }] as object[]) {
      await context.refusedByClient(
        () => systemSharedMemory.register({ ...system, ...lacking }),
        TypeError,
        'Expected',
      );
    }
    for (const lacking of [{ name: '' }, { rawHandle: undefined }, { deviceId: undefined }] as object[]) {
      await context.refusedByClient(() => cudaSharedMemory.register({ ...cuda, ...lacking }), TypeError, 'Expected');
    }
  }),
  accepted('register-incomplete', 'all of them', async (context) => {
    expect((await context.block(64)).byteLength).toBe(64);
  }),
  accepted('status-unknown', 'a name that is known', async (context) => {
    const { name } = await context.block(64);
    expect(await context.client.systemSharedMemory.status(name)).toHaveLength(1);
  }),
  refused('status-unknown', 'the server’s error is an empty list here', async ({ client }) => {
    expect(await client.systemSharedMemory.status(UNKNOWN)).toEqual([]);
    expect(await client.cudaSharedMemory.status(UNKNOWN)).toEqual([]);
  }),
  accepted('status-wrong-kind', 'asked as its own kind', async (context) => {
    const { name } = await context.block(64);
    expect(await context.client.systemSharedMemory.status(name)).toHaveLength(1);
  }),
  refused('status-wrong-kind', 'the server’s error is an empty list here', async (context) => {
    expect(await context.client.cudaSharedMemory.status((await context.block(64)).name)).toEqual([]);
  }),
  accepted('unregister-unknown', 'no error, nothing changes', async (context) => {
    const block = await context.block(64);
    await context.client.systemSharedMemory.unregister(UNKNOWN);
    await context.client.cudaSharedMemory.unregister(block.name);
    expect(await context.client.systemSharedMemory.status(block.name)).toHaveLength(1);
  }),
  refused('unregister-unknown', 'restricted', async (context) => {
    const call = context.openLocked().systemSharedMemory.unregister(UNKNOWN);
    await context.refusal(call, { code: 'TRITON_UNAVAILABLE', details: 'restricted, expecting header' });
  }),
  refused(
    'unregister-in-use',
    'until the request is answered',
    async (context) => {
      const block = await context.block(64);
      const held = await inUse(context, block);
      await context.refusal(context.client.systemSharedMemory.unregister(block.name), {
        code: 'TRITON_INTERNAL',
        region: block.name,
        details: `Cannot unregister shared memory region '${block.name}', it is currently in use.`,
      });
      await held.release();
      await context.client.systemSharedMemory.unregister(block.name);
      expect(await context.client.systemSharedMemory.status(block.name)).toEqual([]);
    },
    { versions: ['2.51'] },
  ),
  accepted(
    'unregister-in-use',
    'waited for, until the request is answered',
    async (context) => {
      const block = await context.block(64);
      const held = await inUse(context, block);
      const released = context.client.systemSharedMemory.waitUntilReleased(block.name, { timeoutMs: 30_000 });
      await held.release();
      await released;
      expect(await context.client.systemSharedMemory.status(block.name)).toEqual([]);
    },
    { versions: ['2.51', '2.53', '2.68'] },
  ),
  refused(
    'unregister-in-use',
    'waiting for it is refused by the client: the server would die',
    async (context) => {
      const block = await context.block(64);
      const call = context.client.systemSharedMemory.waitUntilReleased(block.name, { timeoutMs: 1000 });
      await context.refusal(call, { code: 'TRITON_UNSAFE_REQUEST' });
      expect(await context.client.systemSharedMemory.status(block.name)).toHaveLength(1);
    },
    { versions: ['2.48'] },
  ),
  accepted(
    'unregister-in-use',
    'deferred: listed until its last user is answered, kept by new requests, its name taken',
    async (context) => {
      const { client } = context;
      const { systemSharedMemory } = client;
      const block = await context.block(4096);
      const held = await inUse(context, block);
      await systemSharedMemory.unregister(block.name);
      expect(await systemSharedMemory.status(block.name)).toHaveLength(1);
      await context.answeredRequest('add_sub', inRegion(block), (result) => expect(result.outputs).toHaveLength(2));
      const again = systemSharedMemory.register({ name: block.name, key: `${block.key}-2`, byteLength: 4096 });
      await context.refusal(again, { code: 'TRITON_ALREADY_EXISTS', region: block.name });
      await systemSharedMemory.unregisterAll();
      expect(await systemSharedMemory.status(block.name)).toHaveLength(1);
      await held.release();
      await expect.poll(() => systemSharedMemory.status(block.name)).toEqual([]);
    },
    { versions: ['2.53', '2.68'] },
  ),
  accepted('unregister-in-use', 'after the answer', async (context) => {
    const block = await context.block(4096);
    await context.client.infer('add_sub', inRegion(block));
    await context.client.systemSharedMemory.unregister(block.name);
    expect(await context.client.systemSharedMemory.status(block.name)).toEqual([]);
  }),
  accepted('unregister-all-partly', 'none is in use', async (context) => {
    const block = await context.block(64);
    await context.client.systemSharedMemory.unregisterAll();
    expect(await context.client.systemSharedMemory.status(block.name)).toEqual([]);
  }),
  refused(
    'unregister-all-partly',
    'the one in use stays, the other goes',
    async (context) => {
      const [used, idle] = [await context.block(64), await context.block(64)];
      const held = await inUse(context, used);
      await context.refusal(context.client.systemSharedMemory.unregisterAll(), {
        code: 'TRITON_INTERNAL',
        details: `Failed to unregister the following system shared memory regions: ${used.name}`,
      });
      expect((await context.client.systemSharedMemory.status()).map(({ name }) => name)).toEqual([used.name]);
      await held.release();
      expect(await context.client.systemSharedMemory.status(idle.name)).toEqual([]);
    },
    { versions: ['2.51'] },
  ),

  accepted('infer-region-unknown', 'registered again under the same name', async (context) => {
    const block = await context.block(4096);
    const { systemSharedMemory } = context.client;
    await systemSharedMemory.unregister(block.name);
    await systemSharedMemory.register({ name: block.name, key: block.key, byteLength: 4096 });
    await context.answeredRequest('add_sub', inRegion(block), (result) => expect(result.outputs).toHaveLength(2));
  }),
  refused('infer-region-unknown', 'of an input, of an output', async (context) => {
    const expected = {
      code: 'TRITON_NOT_FOUND',
      region: UNKNOWN,
      details: `Unable to find shared memory region: '${UNKNOWN}'`,
    } as const;
    const input = region(UNKNOWN, { datatype: 'INT32', shape: [1, 16] });
    const { inputs } = addSub();
    await context.refusedRequest('add_sub', { inputs: { ...inputs, INPUT0: input } }, expected);
    const outputs = { OUTPUT0: { region: UNKNOWN, byteOffset: 0, byteLength: BYTES } };
    await context.refusedRequest('add_sub', { inputs, outputs }, expected);
  }),
  accepted('infer-offset-outside', 'the last block of the region', async (context) => {
    const block = await context.block(4 * BYTES);
    await context.answeredRequest('add_sub', inRegion(block), (result) => expect(result.outputs).toHaveLength(2));
  }),
  refused('infer-offset-outside', 'of an input, of an output', async (context) => {
    const block = await context.block(4 * BYTES);
    const expected = {
      code: 'TRITON_INVALID_ARGUMENT',
      region: block.name,
      details: `Invalid offset for shared memory region: '${block.name}'`,
    } as const;
    const { inputs, outputs } = inRegion(block);
    const outside = { ...inputs, INPUT1: { ...inputs.INPUT1, byteOffset: 4 * BYTES } };
    await context.refusedRequest('add_sub', { inputs: outside, outputs }, expected);
    const output = { OUTPUT0: { ...outputs.OUTPUT0, byteOffset: 4 * BYTES } };
    await context.refusedRequest('add_sub', { inputs, outputs: output }, expected);
  }),
  accepted('infer-end-outside', 'up to the last byte', async (context) => {
    const block = await context.block(4 * BYTES + 1);
    await context.answeredRequest('add_sub', inRegion(block, 1), (result) => expect(result.outputs).toHaveLength(2));
  }),
  refused('infer-end-outside', 'of an input, of an output', async (context) => {
    const block = await context.block(4 * BYTES);
    const expected = {
      code: 'TRITON_INVALID_ARGUMENT',
      region: block.name,
      details: `Invalid offset + byte size for shared memory region: '${block.name}'`,
    } as const;
    const { inputs, outputs } = inRegion(block);
    const outside = { ...inputs, INPUT1: { ...inputs.INPUT1, byteOffset: 3 * BYTES + 60 } };
    await context.refusedRequest('add_sub', { inputs: outside, outputs }, expected);
    const output = { OUTPUT1: { ...outputs.OUTPUT1, byteLength: BYTES + 1 } };
    await context.refusedRequest('add_sub', { inputs, outputs: output }, expected);
  }),
  accepted('infer-offset-overflow', 'numbers that a region can hold', async (context) => {
    const block = await context.block(4 * BYTES);
    await context.answeredRequest('add_sub', inRegion(block), (result) => expect(result.outputs).toHaveLength(2));
  }),
  refused('infer-offset-overflow', 'sizes and offsets that would wrap around: by the client', async (context) => {
    const block = await context.block(4 * BYTES);
    const { inputs, outputs } = inRegion(block);
    for (const wrong of [
      { byteLength: -1 },
      { byteOffset: -64 },
      { byteLength: 2 ** 63 },
      { byteOffset: 2 ** 64 - 32 },
    ]) {
      const output = { OUTPUT0: { ...outputs.OUTPUT0, ...wrong } };
      await context.refusedByClient(
        () => context.client.infer('add_sub', { inputs, outputs: output }),
        RangeError,
        Object.keys(wrong)[0] as string,
      );
    }
    const far = { OUTPUT0: { ...outputs.OUTPUT0, byteOffset: Number.MAX_SAFE_INTEGER } };
    await context.refusedRequest(
      'add_sub',
      { inputs, outputs: far },
      {
        code: 'TRITON_INVALID_ARGUMENT',
        region: block.name,
      },
    );
  }),
  accepted('infer-region-parameters', 'a region from its first byte', async (context) => {
    const block = await context.block(4 * BYTES);
    await context.answeredRequest('add_sub', inRegion(block), (result) => expect(result.outputs).toHaveLength(2));
  }),
  refused('infer-region-parameters', 'no region, no size, no offset, other types: by the client', async (context) => {
    const whole = { region: UNKNOWN, byteOffset: 0, byteLength: BYTES };
    for (const wrong of [{ region: '' }, { region: 5 }, { byteLength: undefined }, { byteOffset: '0' }] as object[]) {
      const outputs = { OUTPUT0: { ...whole, ...wrong } };
      await context.refusedByClient(
        () => context.client.infer('add_sub', { ...addSub(), outputs }),
        TypeError,
        'OUTPUT0',
      );
    }
  }),
  accepted('infer-output-too-small', 'a block that is larger: its rest stays as it was', async (context) => {
    const block = await context.block(4096);
    block.write(1024 + BYTES, new Int32Array(1).fill(77));
    const outputs = { OUTPUT0: { region: block.name, byteOffset: 1024, byteLength: 1024 } };
    await context.answeredRequest('add_sub', { ...addSub(), outputs }, () => {
      expect(block.int32(1024 + BYTES - 4, 2)).toEqual([16, 77]);
    });
  }),
  refused('infer-output-too-small', 'the needed size and the output are told', async (context) => {
    const block = await context.block(4096);
    const outputs = { OUTPUT0: {}, OUTPUT1: { region: block.name, byteOffset: 0, byteLength: 16 } };
    await context.refusedRequest(
      'add_sub',
      { ...addSub(2), outputs },
      {
        code: 'TRITON_INTERNAL',
        output: 'OUTPUT1',
        requiredByteLength: 128,
        details:
          "shared memory size specified with the request for output 'OUTPUT1' (16 bytes) should be at least 128 bytes",
      },
    );
  }),
  accepted('shm-unsupported', 'a server that has shared memory says so', async (context) => {
    expect(await context.client.sharedMemoryState()).toBe('enabled');
    expect(await context.openLocked().sharedMemoryState()).toBe('restricted');
  }),
  accepted('restricted-api', 'with the header', async (context) => {
    const client = context.openLocked({ headers: context.adminHeaders });
    expect(await client.systemSharedMemory.status()).toEqual([]);
    expect((await client.modelConfig('identity')).name).toBe('identity');
  }),
  refused('restricted-api', 'without the header, with another value', async (context) => {
    const expected = {
      code: 'TRITON_UNAVAILABLE',
      details: /restricted, expecting header '(triton-grpc-protocol-)?admin-key'/,
    } as const;
    const wrong = Object.fromEntries(Object.keys(context.adminHeaders).map((name) => [name, 'wrong']));
    for (const headers of [{}, wrong]) {
      const client = context.openLocked({ headers });
      await context.refusal(client.systemSharedMemory.status(), expected);
      await context.refusal(client.modelConfig('identity'), expected);
      await context.refusal(client.traceSettings(), expected);
      await context.refusal(client.logSettings(), expected);
      await context.refusal(client.modelStatistics(), expected);
    }
  }),
];
