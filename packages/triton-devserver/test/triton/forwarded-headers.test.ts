import { join } from 'node:path';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import type { LocalTriton } from '@zerohop/local-triton';
import { describeTier, privateTriton } from '@zerohop/test-support';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ModelInferRequest, ModelInferResponse } from '../../src/grpc/gen/grpc_service.js';
import { DevServer } from '../../src/index.js';
import { TwinRepository } from '../support/twin-repository.js';

const MODEL = 'request_info';
const REAL_MODELS = join(import.meta.dirname, '../../../triton-client/test/conformance/models');
const NAMES = ['x-forward-b', 'X-Forward-A', 'my-x-forward-c', 'x-forward', 'other'];

type Urls = Pick<DevServer, 'grpcUrl' | 'httpUrl'>;

/** What the model was told over gRPC, where one of the headers is binary. */
async function overGrpc({ grpcUrl }: Urls): Promise<string> {
  const input = { name: 'INPUT0', datatype: 'INT32', shape: [1n], contents: { int_contents: [1] } };
  const request = ModelInferRequest.fromPartial({ model_name: MODEL, inputs: [input as never] });
  const metadata = new Metadata();
  for (const name of NAMES) metadata.add(name, 'value');
  metadata.add('x-forward-bin', Buffer.from('bytes'));
  const client = new Client(grpcUrl.replace(/^grpc:\/\//, ''), credentials.createInsecure());
  const same = (bytes: Buffer) => bytes;
  const answer = await new Promise<Buffer>((resolve, reject) => {
    const bytes = Buffer.from(ModelInferRequest.encode(request).finish());
    client.makeUnaryRequest(
      '/inference.GRPCInferenceService/ModelInfer',
      same,
      same,
      bytes,
      metadata,
      (error, value) => (error === null ? resolve(value as Buffer) : reject(error)),
    );
  }).finally(() => client.close());
  return Buffer.concat(ModelInferResponse.decode(answer).raw_output_contents).subarray(4).toString();
}

async function overHttp({ httpUrl }: Urls): Promise<string> {
  const body = JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'INT32', shape: [1], data: [1] }] });
  const headers = NAMES.map((name): [string, string] => [name, 'value']);
  const answer = await fetch(`${httpUrl}/v2/models/${MODEL}/infer`, { method: 'POST', body, headers });
  return ((await answer.json()) as { outputs: [{ data: [string] }] }).outputs[0].data[0].replace(
    /127.0.0.1:\d+/,
    'HOST',
  );
}

describeTier('triton', 'forwarded headers', () => {
  describe.each([
    ['x-forward-.', 'x-forward-.'],
    ['^X-FORWARD$|user', '^X-FORWARD-[A-B]|^host$'],
    ['^[^a]', '.*'],
  ])('gRPC %s, HTTP %s', (grpc, http) => {
    const twins = new TwinRepository([MODEL]);
    let real: LocalTriton;
    let ours: DevServer;

    beforeAll(async () => {
      real = await privateTriton({
        modelRepository: REAL_MODELS,
        models: [MODEL],
        args: [`--grpc-header-forward-pattern=${grpc}`, `--http-header-forward-pattern=${http}`],
      });
      const forwardHeaders = { grpc: new RegExp(grpc), http: new RegExp(http) };
      ours = await DevServer.start({ modelRepository: twins.path, forwardHeaders });
    });
    afterAll(async () => {
      await ours.kill();
      await real.stop();
      twins.remove();
    });

    test.each([
      ['gRPC', overGrpc],
      ['HTTP', overHttp],
    ] as const)('%s: the model is told the same', async (_, ask) => {
      const [expected, given] = [await ask(real), await ask(ours)];
      expect(expected).toContain('x-forward');
      expect(given).toBe(expected);
    });
  });
});
