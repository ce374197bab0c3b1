import { existsSync } from 'node:fs';
import { TritonClient } from '@zerohop/triton-client';
import { DevServer } from '@zerohop/triton-devserver';
import { describe, expect, test } from 'vitest';
import { SharedRegion } from '../../src/index.js';
import { echoModel } from '../support/dev-server.js';
import { FakeError, FakeTriton } from '../support/fake-triton.js';
import { code } from '../support/pool-suite.js';
import { describeRegionFaults } from '../support/region-faults-suite.js';
import { describeSharedRegions } from '../support/shared-region-suite.js';
import { warningsWith } from '../support/warnings.js';

const tensors = { model: 'identity', input: 'IN', output: 'OUT', shape: [4, 64] };

describeSharedRegions({
  name: 'a server in this process',
  kind: 'system',
  open: () => ({ client: new FakeTriton(), ...tensors }),
});

describe.each(['2.48', '2.51', '2.53'] as const)('version %s', (version) => {
  describeSharedRegions({
    name: `devserver ${version}`,
    kind: 'system',
    async open() {
      const server = await DevServer.start({ models: { identity: echoModel }, version });
      const client = new TritonClient(server.grpcUrl);
      const end = async () => {
        await client.close();
        await server.stop();
      };
      // 2.48 does not count users: there a lost request has no second proof.
      return { client, ...tensors, end };
    },
    ...(version === '2.48' && { countsUsers: false }),
  });
});

describeRegionFaults({ kind: 'system', makeServer: () => new FakeTriton() });

test('a server without client shared memory refuses by code', async () => {
  await using server = await DevServer.start({ models: { identity: echoModel }, version: '2.68' });
  await using client = new TritonClient(server.grpcUrl);
  const refused = SharedRegion.allocate(client, { kind: 'system', byteLength: 4096 });
  await expect(refused).rejects.toThrow(code('ERR_SHM_DISABLED'));
});

test('a system region whose server is gone is freed: nothing proven, and no warning that it was kept', async () => {
  const server = new FakeTriton();
  const region = await SharedRegion.allocate(server, { kind: 'system', byteLength: 4096 });
  const warnings = warningsWith(region.name);
  server.down = new FakeError('TRITON_UNAVAILABLE', 'connect ECONNREFUSED');
  await region[Symbol.asyncDispose]();
  expect(existsSync(`/dev/shm${region.key}`)).toBe(false);
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toEqual([]);
  expect(await region.release()).toEqual({ proven: false, reason: 'the server cannot be reached' });
  server.down = undefined;
  expect(await region.release()).toEqual({ proven: true });
  expect(server.regionNames).toEqual([]);
});
