import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { describeTier, privateTriton, repositoryRoot, testModels } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { configToJson } from '../../src/config/to-json.js';
import { GRPCInferenceServiceClient, type ModelConfigResponse } from '../../src/grpc/gen/grpc_service.js';
import { FolderRepository } from '../../src/repository/folder.js';
import { ModelManager } from '../../src/repository/manager.js';
import { ServerError } from '../../src/status.js';
import { makeDirectRunner } from '../support/direct-runner.js';
import { ACCEPTED, REFUSED, writeModel, writeRepository } from '../support/model-folders.js';

const COPIES = [testModels, join(repositoryRoot, 'packages/triton-client/test/conformance/models')];
const SERVER = '2.51.0';

/** What both servers say of a model: the answer to its load, and what is there then. */
interface Seen {
  readonly load: string;
  readonly config: string;
  readonly metadata: string;
  readonly index: unknown;
}

/** Python's errors name their class and place; here only their message counts. */
const plain = (text: string) => text.replace(/\w+Error: boom(?:\\n\\nAt:.*?(?=;\\n|"))?/g, 'boom');

describeTier('triton', "a repository's models, loaded here and by a real 2.51", () => {
  let repository = '';
  let names: string[] = [];
  let triton: Awaited<ReturnType<typeof privateTriton>>;
  let grpc: GRPCInferenceServiceClient;
  let manager: ModelManager;

  beforeAll(async () => {
    repository = mkdtempSync(join(tmpdir(), 'zerohop-devserver-models-'));
    names = writeRepository(repository, COPIES);
    triton = await privateTriton({ modelRepository: repository, modelControl: 'explicit' });
    grpc = new GRPCInferenceServiceClient(triton.grpcUrl.replace('grpc://', ''), credentials.createInsecure());
    const context = { serverVersion: SERVER, gpus: 0 };
    manager = new ModelManager({
      repositories: [new FolderRepository(repository, context)],
      context,
      control: 'explicit',
      makeRunner: makeDirectRunner,
    });
  });

  afterAll(async () => {
    grpc?.close();
    await triton?.stop();
    await manager?.close();
    if (repository !== '') rmSync(repository, { recursive: true });
  });

  async function http(method: string, path: string): Promise<string> {
    const response = await fetch(`${triton.httpUrl}/v2${path}`, { method });
    return `${response.status} ${await response.text()}`;
  }

  async function here(call: () => string | Promise<string>): Promise<string> {
    try {
      return `200 ${await call()}`;
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      return `${error.httpStatus} ${JSON.stringify({ error: error.message })}`;
    }
  }

  const load = (name: string) => here(() => manager.load(name, {}).then(() => ''));

  async function real(name: string): Promise<Seen> {
    const answer = await http('POST', `/repository/models/${name}/load`);
    return {
      load: plain(answer),
      config: await http('GET', `/models/${name}/config`),
      metadata: await http('GET', `/models/${name}`),
      index: JSON.parse(plain(await http('POST', '/repository/index')).slice(4)).filter(
        (entry: { name: string }) => entry.name === name,
      ),
    };
  }

  async function ours(name: string): Promise<Seen> {
    const answer = await load(name);
    return {
      load: plain(answer),
      config: await here(() => configToJson(manager.config(name, ''), SERVER)),
      metadata: await here(() => JSON.stringify(manager.metadata(name, ''))),
      index: JSON.parse(plain(JSON.stringify(manager.index(false)))).filter(
        (entry: { name: string }) => entry.name === name,
      ),
    };
  }

  test('every model is loaded or refused as there, with the same configuration, metadata and index, byte for byte', async () => {
    const differences: Record<string, { here: Seen; there: Seen }> = {};
    for (const name of names) {
      const there = await real(name);
      const seen = await ours(name);
      // A version that was started beside one that failed is on its way out for a moment.
      const settled = (text: unknown) =>
        JSON.stringify(text).replaceAll('"UNLOADING"', '"UNAVAILABLE","reason":"unloaded"');
      const same = there.load === seen.load && there.config === seen.config && there.metadata === seen.metadata;
      if (!same || settled(there.index) !== settled(seen.index)) differences[name] = { here: seen, there };
    }
    expect(differences).toEqual({});
    expect(names.length).toBeGreaterThan(Object.keys(ACCEPTED).length + Object.keys(REFUSED).length + 14);
  }, 600_000);

  test('over gRPC the configurations are the same too', async () => {
    const accepted = names.filter((name) => !Object.hasOwn(REFUSED, name));
    for (const name of accepted) {
      const config = await new Promise<ModelConfigResponse>((resolve, reject) => {
        grpc.modelConfig({ name, version: '' }, (error, answer) => (error === null ? resolve(answer) : reject(error)));
      });
      expect(manager.config(name, ''), name).toEqual(config.config);
    }
  });
});

describeTier('triton', 'a model of 2.48', () => {
  test('its configuration has the fields of that version, byte for byte', async () => {
    const repository = mkdtempSync(join(tmpdir(), 'zerohop-devserver-models-'));
    onTestFinished(() => rmSync(repository, { recursive: true }));
    const names = ['dynamic_policies', 'sequence_controls', 'optimization', 'rate_limiter', 'reshaped', 'transaction'];
    for (const name of names) writeModel(join(repository, name), ACCEPTED[name]);
    writeFileSync(join(repository, 'reshaped', 'labels.txt'), 'a');
    const triton = await privateTriton({ version: '2.48', modelRepository: repository });
    onTestFinished(() => triton.stop());
    const context = { serverVersion: '2.48.0', gpus: 0 };
    const manager = new ModelManager({
      repositories: [new FolderRepository(repository, context)],
      context,
      control: 'none',
      makeRunner: makeDirectRunner,
    });
    onTestFinished(() => manager.close());
    expect(await manager.start()).toEqual(new Map());
    for (const name of names) {
      const config = await (await fetch(`${triton.httpUrl}/v2/models/${name}/config`)).text();
      expect(configToJson(manager.config(name, ''), context.serverVersion)).toBe(config);
    }
  });
});
