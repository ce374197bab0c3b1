import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LocalTriton } from '@zerohop/local-triton';
import { describeTier, privateTriton } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { buildBackend } from '../../backend/build.mjs';
import { backendSuite, SUITE_MODELS } from '../support/backend-suite.js';
import { benchModels } from '../support/paths.js';

describeTier(
  'triton',
  'the native backend and its Python twins, on the CPU',
  () => {
    let server: LocalTriton;
    beforeAll(async () => {
      const backendDirectories = [await buildBackend()];
      server = await privateTriton({ modelRepository: benchModels, models: SUITE_MODELS, backendDirectories });
    });
    afterAll(() => server?.stop());

    backendSuite({ grpcUrl: () => server.grpcUrl, transports: ['system', 'bytes'] });

    test('a model whose name says nothing does not load, and the server says why', async () => {
      const repository = mkdtempSync(join(tmpdir(), 'zerohop-bench-models-'));
      onTestFinished(() => rmSync(repository, { recursive: true, force: true }));
      const model = join(repository, 'other');
      cpSync(join(benchModels, 'reduce_small'), model, { recursive: true });
      const config = join(model, 'config.pbtxt');
      writeFileSync(config, readFileSync(config, 'utf8').replace('name: "reduce_small"', 'name: "other"'));
      const backendDirectories = [await buildBackend()];
      await expect(privateTriton({ modelRepository: repository, backendDirectories })).rejects.toThrow(
        "a model's name begins with 'identity' or 'reduce', not 'other'",
      );
    });
  },
  { needs: ['g++', 'addon'] },
);
