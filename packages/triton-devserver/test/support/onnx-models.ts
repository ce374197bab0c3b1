import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { type InferResult, TritonClient, tensor } from '@zerohop/triton-client';
import { expect, onTestFinished } from 'vitest';
import { DevServer, type DevServerOptions } from '../../src/index.js';
import { heavyFile } from './onnx-file.js';

/** Models that compute for long, and an input with which they do not. */
export const HEAVY = heavyFile(40);
export const BUSY = heavyFile(8);
export const LITTLE = { N: tensor('INT64', [2], BigInt64Array.of(1n, 1n)) };

/** A new folder with files, by their paths in it, which the end of the test removes. */
export function folderOf(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-onnx-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [path, bytes] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  }
  return folder;
}

/** A server, and a client of it, until the end of the test. */
export async function serve(options: DevServerOptions): Promise<{ server: DevServer; client: TritonClient }> {
  const server = await DevServer.start(options);
  onTestFinished(() => server.stop());
  const client = new TritonClient(server.grpcUrl);
  onTestFinished(() => client.close());
  return { server, client };
}

/** The threads that this process started and that have not ended, until the end of the test; those it has already are left out. */
export function threads(): ReadonlySet<Worker> {
  const living = new Set<Worker>();
  const add = (worker: Worker) => {
    living.add(worker);
    worker.once('exit', () => living.delete(worker));
  };
  process.on('worker', add);
  onTestFinished(() => {
    process.off('worker', add);
  });
  return living;
}

/** Until a request of the model `m` waits, which is when all of its instances are busy. */
export async function untilOneWaits(server: DevServer): Promise<void> {
  await expect
    .poll(async () => (await fetch(server.metricsUrl)).text(), { timeout: 20_000 })
    .toMatch(/^nv_inference_pending_request_count\{model="m",.*\} 1$/m);
}

/** A model's state in the index, and the reason of it. */
export async function stateOf(client: TritonClient, name: string): Promise<string> {
  const entry = (await client.repositoryIndex()).find((each) => each.name === name);
  return `${entry?.state} ${entry?.reason}`;
}

/** An output's shape and elements. */
export function rows(result: InferResult, name: string) {
  const output = result.output(name);
  const data = output.datatype === 'BYTES' ? output.strings() : [...(output.data as Float32Array)];
  return { shape: output.shape, data };
}
