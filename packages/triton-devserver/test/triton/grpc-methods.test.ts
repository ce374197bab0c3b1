import { Client, credentials } from '@grpc/grpc-js';
import { describeTier, sharedTriton } from '@zerohop/test-support';
import { expect, onTestFinished, test } from 'vitest';
import { DevServer } from '../../src/index.js';

const WATCH = '/grpc.health.v1.Health/Watch';
const METHODS = [
  WATCH,
  '/grpc.health.v1.Health/Nope',
  '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
  '/inference.GRPCInferenceService/Nope',
  '/nope',
];

describeTier('triton', 'methods that no server of these has', () => {
  test('are answered as by a real 2.51', async () => {
    const own = await DevServer.start({ models: {} });
    onTestFinished(() => own.stop());
    const [there, here] = await Promise.all([sharedTriton().grpcUrl, own.grpcUrl].map(answers));
    // Of methods that nobody knows grpc-js has a text of its own.
    expect(codes(here)).toEqual(codes(there));
    expect(here?.[WATCH]).toEqual(there?.[WATCH]);
  });
});

async function answers(url: string): Promise<Record<string, readonly [code?: number, text?: string]>> {
  const client = new Client(url.replace('grpc://', ''), credentials.createInsecure());
  const same = (bytes: Buffer) => bytes;
  const ask = (path: string) =>
    new Promise<readonly [code?: number, text?: string]>((resolve) => {
      client.makeUnaryRequest(path, same, same, Buffer.alloc(0), (error) =>
        resolve(error === null ? [] : [error.code, error.details]),
      );
    });
  const found: Record<string, readonly [code?: number, text?: string]> = {};
  for (const path of METHODS) found[path] = await ask(path);
  client.close();
  return found;
}

const codes = (found: Record<string, readonly [code?: number, text?: string]> = {}) =>
  Object.entries(found).map(([path, [code]]) => [path, code]);
