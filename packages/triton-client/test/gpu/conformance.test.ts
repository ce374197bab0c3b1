import { join } from 'node:path';
import { Device } from '@zerohop/cuda-native';
import type { LocalTriton } from '@zerohop/local-triton';
import { describeTier, privateTriton } from '@zerohop/test-support';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TritonClient } from '../../src/index.js';
import { Context } from '../conformance/context.js';
import { QA_CASES } from '../conformance/qa.js';
import type { ConformanceTarget, TransportName } from '../conformance/target.js';
import { cudaKind } from '../support/qa-kinds.js';

const MIB = 2 ** 20;

/** What the suite of the tier `triton` cannot show without a GPU. */
describeTier('gpu', 'conformance of CUDA shared memory', () => {
  let triton: LocalTriton;
  let device: Device;

  beforeAll(async () => {
    triton = await privateTriton({
      modelRepository: join(import.meta.dirname, '../conformance/models'),
      models: ['add_sub'],
    });
    device = await Device.open(0);
  });

  afterAll(() => triton.stop());

  function target(transport: TransportName): ConformanceTarget {
    const none = () => {
      throw new Error('There is one server here');
    };
    const { grpcUrl, httpUrl, metricsUrl } = triton;
    const servers = () => ({ grpcUrl, httpUrl, metricsUrl });
    const code = { path: '1/model.py', doubling: '', broken: '' };
    return { name: 'Triton', version: '2.51', transport, servers, tls: none, code, leaving: 'main', leave: none };
  }

  describe.each<TransportName>(['grpc', 'http'])('over %s', (transport) => {
    let client: TritonClient;

    beforeAll(() => {
      client = new TritonClient(transport === 'grpc' ? triton.grpcUrl : triton.httpUrl);
    });

    afterAll(() => client.close());

    const context = () => new Context(target(transport), client, new Map());

    test.each(QA_CASES.map((entry) => [entry.number, entry.what, entry.run] as const))('QA %s: %s', (_, __, run) =>
      run(context(), cudaKind(context(), device)),
    );

    test('a handle of 64 bytes is registered, with its device and its size', async () => {
      const kind = cudaKind(context(), device);
      const memory = await kind.allocate(4 * MIB);
      await memory.register();
      expect(await client.cudaSharedMemory.status(memory.name)).toEqual([
        { name: memory.name, deviceId: device.ordinal, byteLength: 4 * MIB },
      ]);
      expect(await client.systemSharedMemory.status(memory.name)).toEqual([]);
    });

    test('more bytes than were allocated are refused', async () => {
      const memory = await device.alloc(4 * MIB, { exportable: true });
      const { rawHandle } = memory.exportIpc();
      const name = 'zerohop-conformance-too-large';
      const call = client.cudaSharedMemory.register({
        name,
        rawHandle,
        deviceId: device.ordinal,
        byteLength: 64 * MIB,
      });
      await context().refusal(call, {
        code: 'TRITON_INVALID_ARGUMENT',
        region: name,
        details: `failed to register shared memory region '${name}': invalid args`,
      });
      await memory.close();
    });

    test('an ordinal that the server does not have is refused before it is sent', async () => {
      const { metricsUrl } = triton;
      const own = context().open({ metricsUrl });
      const call = own.cudaSharedMemory.register({
        name: 'zerohop-conformance-ordinal',
        rawHandle: new Uint8Array(64),
        deviceId: 99,
        byteLength: MIB,
      });
      await expect(call).rejects.toMatchObject({ code: 'TRITON_UNSAFE_REQUEST' });
    });
  });
});
