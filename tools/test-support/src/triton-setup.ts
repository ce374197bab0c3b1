import { startTriton } from '@zerohop/local-triton';
import type { TestProject } from 'vitest/node';
import { missing } from './needs.js';
import { backendDirectories, modelNames, modelRepositories } from './triton.js';

/** Global set-up of the tiers that need a real server: starts one for all their files and ends it afterwards. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (missing('triton') !== undefined || (project.name === 'gpu' && missing('gpu') !== undefined)) {
    project.provide('triton', undefined);
    return undefined;
  }
  const repositories = modelRepositories();
  const server = await startTriton({
    modelRepository: [...repositories.loaded, ...repositories.others],
    models: repositories.loaded.flatMap(modelNames),
    backendDirectories: backendDirectories(),
    shmByteLength: 512 * 2 ** 20,
    // Of several GPUs a model would have an instance on each, and answer from whichever is free.
    ...(project.name === 'gpu' && { env: { CUDA_VISIBLE_DEVICES: '0' } }),
  });
  const { grpcUrl, httpUrl, metricsUrl, pid } = server;
  project.provide('triton', { grpcUrl, httpUrl, metricsUrl, pid });
  process.env.TRITON_URL = grpcUrl;
  process.env.TRITON_HTTP_URL = httpUrl;
  process.env.TRITON_METRICS_URL = metricsUrl;
  return () => server.stop();
}
