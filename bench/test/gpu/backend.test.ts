import type { LocalTriton } from '@zerohop/local-triton';
import { describeTier, privateTriton } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildBackend } from '../../backend/build.mjs';
import { backendSuite, SUITE_MODELS } from '../support/backend-suite.js';
import { benchModels } from '../support/paths.js';

describeTier('gpu', 'the native backend and its Python twins, on a GPU', () => {
  let server: LocalTriton;
  beforeAll(async () => {
    const backendDirectories = [await buildBackend()];
    const env = { CUDA_VISIBLE_DEVICES: '0' };
    server = await privateTriton({ modelRepository: benchModels, models: SUITE_MODELS, backendDirectories, env });
  });
  afterAll(() => server?.stop());

  test.each(SUITE_MODELS)('%s runs on GPU 0 without being told', async (model) => {
    const client = new TritonClient(server.grpcUrl);
    try {
      const { instanceGroups } = await client.modelConfig(model);
      expect(instanceGroups).toMatchObject([{ kind: 'KIND_GPU', gpus: [0] }]);
    } finally {
      await client.close();
    }
  });

  backendSuite({ grpcUrl: () => server.grpcUrl, transports: ['cuda', 'system', 'bytes'] });
});
