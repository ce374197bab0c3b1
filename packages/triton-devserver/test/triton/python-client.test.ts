import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { LocalTriton } from '@zerohop/local-triton';
import { describeTier, modelNames, peersPython, privateTriton, testModels } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DevServer } from '../../src/dev-server.js';
import { TwinRepository } from '../support/twin-repository.js';

const MODELS = ['identity', 'echo_bytes', 'fail', 'repeat', 'sequence'];
const SCRIPT = join(import.meta.dirname, '../support/python_flows.py');
const run = promisify(execFile);

/** By client, then by flow. */
type Given = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

async function flows({ grpcUrl, httpUrl }: { grpcUrl: string; httpUrl: string }): Promise<Given> {
  const hosts = [grpcUrl, httpUrl].map((url) => url.replace(/^\w+:\/\//, ''));
  const { stdout } = await run(peersPython(), [SCRIPT, ...hosts], { maxBuffer: 2 ** 26, timeout: 60_000 });
  return JSON.parse(stdout.replaceAll(/[^"]*trace\.json/g, 'trace.json')) as Given;
}

describeTier(
  'triton',
  'the example flows of NVIDIA’s Python client',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'zerohop-python-client-'));
    const twins = new TwinRepository(modelNames(testModels));
    let real: LocalTriton;
    let ours: DevServer;
    let expected: Given;
    let given: Given;

    beforeAll(async () => {
      real = await privateTriton({
        models: MODELS,
        args: [`--trace-config=triton,file=${folder}/trace.json`, '--trace-config=level=OFF'],
      });
      ours = await DevServer.start({
        modelRepository: twins.path,
        modelControl: 'explicit',
        loadModels: MODELS,
      });
      expected = await flows(real);
      given = await flows(ours);
    });

    afterAll(async () => {
      await ours.kill();
      await real.stop();
      twins.remove();
      rmSync(folder, { recursive: true });
    });

    test.each(['tritonclient.grpc', 'tritonclient.http'])('%s gets what a real server gives', (client) => {
      const flowsOf = expected[client] ?? {};
      expect(Object.keys(flowsOf).length).toBeGreaterThanOrEqual(8);
      for (const [flow, answers] of Object.entries(flowsOf)) {
        expect({ [flow]: given[client]?.[flow] }).toEqual({ [flow]: answers });
      }
    });
  },
  { needs: ['peers'] },
);
