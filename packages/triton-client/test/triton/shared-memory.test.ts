import { randomBytes } from 'node:crypto';
import { SharedMemory } from '@zerohop/cuda-native';
import { describeTier, sharedTriton } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { region, TritonClient } from '../../src/index.js';
import { connect } from '../support/for-one-test.js';

const ROWS = 64;
const BLOCK = ROWS * ROWS * Float32Array.BYTES_PER_ELEMENT;

describeTier(
  'triton',
  'shared memory on a real server',
  () => {
    let client: TritonClient;

    beforeAll(() => {
      client = new TritonClient(sharedTriton().grpcUrl);
    });

    afterAll(() => client.close());

    /** An input block and an output block in one region of ours. */
    async function slot() {
      const name = `zerohop-client-test-${randomBytes(6).toString('hex')}`;
      const memory = await SharedMemory.create(`/${name}`, 2 * BLOCK);
      onTestFinished(async () => {
        await client.systemSharedMemory.unregister(name);
        memory.close();
      });
      await client.systemSharedMemory.register({ name, key: `/${name}`, byteLength: 2 * BLOCK });
      return {
        name,
        input: new Float32Array(memory.buffer, 0, ROWS * ROWS),
        output: new Float32Array(memory.buffer, BLOCK, ROWS * ROWS),
        request: {
          inputs: { INPUT0: region(name, { datatype: 'FP32', shape: [ROWS, ROWS] }) },
          outputs: { OUTPUT0: { region: name, byteOffset: BLOCK, byteLength: BLOCK } },
        },
      } as const;
    }

    test('register, status, unregister', async () => {
      const { name } = await slot();
      const expected = { name, key: `/${name}`, byteOffset: 0, byteLength: 2 * BLOCK };
      expect(await client.systemSharedMemory.status(name)).toEqual([expected]);
      expect(await client.systemSharedMemory.status()).toContainEqual(expected);
      expect(await client.cudaSharedMemory.status(name)).toEqual([]);
      await expect(
        client.systemSharedMemory.register({ name, key: `/${name}`, byteLength: BLOCK }),
      ).rejects.toMatchObject({ code: 'TRITON_ALREADY_EXISTS', region: name });
      await client.systemSharedMemory.unregister(name);
      expect(await client.systemSharedMemory.status(name)).toEqual([]);
    });

    test('what cannot be registered is a typed error', async () => {
      const { systemSharedMemory, cudaSharedMemory } = client;
      const name = 'zerohop-client-test-bad';
      await expect(
        systemSharedMemory.register({ name, key: '/zerohop-no-such-key', byteLength: 8 }),
      ).rejects.toMatchObject({ code: 'TRITON_INTERNAL', region: name });
      await expect(
        cudaSharedMemory.register({ name, rawHandle: new Uint8Array(64), deviceId: 0, byteLength: 8 }),
      ).rejects.toMatchObject({ code: 'TRITON_INVALID_ARGUMENT', method: 'CudaSharedMemoryRegister' });
    });

    test('infers in place: under 500 bytes on the wire, the output in our memory', async () => {
      const { input, output, request } = await slot();
      const prepared = client.prepare('identity_64', request);
      expect(prepared.byteLength).toBeLessThan(500);
      for (let round = 0; round < 3; round += 1) {
        input.fill(round);
        output.fill(-1);
        const call = prepared.infer();
        const reply = (await call).output('OUTPUT0');
        expect([reply.datatype, reply.shape, reply.bytes.byteLength]).toEqual(['FP32', [ROWS, ROWS], 0]);
        expect(await call.settled).toBe('answered');
        expect([output[0], output.at(-1)]).toEqual([round, round]);
      }
    });

    test('an output in a region is not in the answer, which says where it is, whatever way it came', async () => {
      const { name, request } = await slot();
      const http = new TritonClient(sharedTriton().httpUrl);
      onTestFinished(() => http.close());
      const results = [
        await client.infer('identity_64', request),
        await client.prepare('identity_64', request).infer(),
        await client.infer('identity_64', request, { headers: { a: 'b' } }),
        (await client.stream('identity_64', [request]).next()).value,
        await http.infer('identity_64', request),
        (await http.stream('identity_64', [request]).next()).value,
      ];
      for (const result of results) {
        const output = result?.output('OUTPUT0');
        const error = expect.objectContaining({
          name: 'TypeError',
          code: 'ERR_OUTPUT_IN_REGION',
          message: expect.stringContaining(`lies in region '${name}' from byte ${BLOCK} on`),
        });
        expect(() => output?.data).toThrow(error);
        expect(() => output?.float32()).toThrow(error);
      }
    });

    test('a block that is too small tells the size it needs', async () => {
      const { name, request } = await slot();
      const outputs = { OUTPUT0: { region: name, byteOffset: BLOCK, byteLength: 16 } };
      await expect(client.infer('identity_64', { ...request, outputs })).rejects.toMatchObject({
        code: 'TRITON_INTERNAL',
        output: 'OUTPUT0',
        requiredByteLength: BLOCK,
      });
      const outside = { OUTPUT0: { region: name, byteOffset: 2 * BLOCK - 8, byteLength: BLOCK } };
      await expect(client.infer('identity_64', { ...request, outputs: outside })).rejects.toMatchObject({
        code: 'TRITON_INVALID_ARGUMENT',
        region: name,
      });
    });

    test('1,000 requests on 16 lanes: each writes its pattern and reads it back', async () => {
      const slots = await Promise.all(Array.from({ length: 16 }, slot));
      const own = connect(sharedTriton().grpcUrl, { lanes: 16 });
      let next = 0;
      await Promise.all(
        slots.map(async ({ input, output, request }) => {
          const prepared = own.prepare('identity_64', request);
          for (let index = next++; index < 1000; index = next++) {
            input.fill(index);
            await prepared.infer();
            expect([output[0], output.at(-1)]).toEqual([index, index]);
          }
        }),
      );
      expect(own.stats).toMatchObject({ requests: 1000, lost: 0, queued: 0, lanesOpened: 16 });
    });

    test('a time-out detaches: the server’s late answer is the proof that it wrote', async () => {
      const { name, input, output, request } = await slot();
      input.fill(42);
      output.fill(-1);
      const call = client.infer('slow', { ...request, parameters: { ms: 2000 } }, { timeoutMs: 500 });
      await expect(call).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
      expect(output[0]).toBe(-1);
      expect(client.stats.lanes.detached).toBe(1);
      // The server holds the region as long as the request runs.
      await expect(client.systemSharedMemory.unregister(name)).rejects.toMatchObject({ region: name });
      expect(await call.settled).toBe('answered');
      expect([output[0], output.at(-1)]).toEqual([42, 42]);
      expect(client.stats).toMatchObject({ lost: 0, lanes: { detached: 0 } });
    });

    test('a cancelled request is lost: the server writes all the same', async () => {
      const { name, input, output, request } = await slot();
      input.fill(43);
      output.fill(-1);
      const options = { timeoutMs: 500, onAbort: 'cancel' } as const;
      const call = client.infer('slow', { ...request, parameters: { ms: 2000 } }, options);
      await expect(call).rejects.toMatchObject({ code: 'TRITON_TIMEOUT' });
      expect(await call.settled).toBe('lost');
      // Unregistering is refused until the server is done.
      await expect
        .poll(
          () =>
            client.systemSharedMemory.unregister(name).then(
              () => 'done',
              () => 'in use',
            ),
          { timeout: 30_000 },
        )
        .toBe('done');
      expect(output[0]).toBe(43);
    });
  },
  { needs: ['addon'] },
);
