import { expect } from 'vitest';
import { configToJson } from '../../../src/config/to-json.js';
import type { IndexEntry, LoadOptions } from '../../../src/core/core.js';
import type { ModelManager } from '../../../src/repository/manager.js';
import { ServerError } from '../../../src/status.js';
import { JAVASCRIPT_MODEL, PYTHON_MODEL } from '../model-folders.js';
import type { Step } from './steps.js';

/** Models of which the answers to a request for them are compared after each step, and versions. */
const ASKED = [
  'a',
  'three',
  'e',
  'e2',
  'outer',
  'broken',
  'fresh',
  'nowhere',
  'wants_version',
  'later',
  'of_later',
  'of_broken',
].flatMap((name) => ['', '1', '2', '7'].map((version) => ({ name, version })));

const plain = (text: string) => text.replace(/\w+Error: boom(?:\n\nAt:[^;]*)?/g, 'boom');

interface Seen {
  readonly answer: string;
  readonly index: unknown;
  readonly readyIndex: unknown;
  readonly ready: boolean;
  readonly asked: Record<string, string>;
}

export interface Server {
  do(step: Exclude<Step, readonly ['change', unknown]>): Promise<string>;
  index(readyOnly: boolean): Promise<IndexEntry[]>;
  ready(): Promise<boolean>;
  ask(name: string, version: string): Promise<string>;
}

export async function look(server: Server, step: Exclude<Step, readonly ['change', unknown]>): Promise<Seen> {
  const answer = plain(await server.do(step));
  const busy = async () =>
    (await server.index(false)).some(({ state }) => state === 'UNLOADING' || state === 'LOADING');
  await expect.poll(busy, { timeout: 20_000 }).toBe(false);
  const asked: Record<string, string> = {};
  for (const { name, version } of ASKED) asked[`${name}/${version}`] = await server.ask(name, version);
  const index = (await server.index(false)).map((entry) =>
    entry.reason === undefined ? entry : { ...entry, reason: plain(entry.reason) },
  );
  return { answer, index, readyIndex: await server.index(true), ready: await server.ready(), asked };
}

/** The real server, over HTTP. */
export function realServer(url: string): Server {
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${url}/v2${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return `${response.status} ${response.ok ? text : (JSON.parse(text || '{"error":""}') as { error: string }).error}`;
  };
  return {
    do: async ([kind, name, ...details]) => {
      const parameters: Record<string, unknown> = {};
      if (kind === 'unload with parts') parameters.unload_dependents = true;
      if (kind === 'load' && details[0] !== undefined) parameters.config = details[0];
      if (kind === 'files') {
        parameters[`file:${details[0]}/model.py`] = Buffer.from(PYTHON_MODEL).toString('base64');
        if (details[1] !== undefined) parameters.config = details[1];
      }
      const action = kind === 'load' || kind === 'files' ? 'load' : 'unload';
      return call('POST', `/repository/models/${name}/${action}`, { parameters });
    },
    index: async (ready) => JSON.parse((await call('POST', '/repository/index', { ready })).slice(4)),
    ready: async () => (await fetch(`${url}/v2/health/ready`)).ok,
    ask: (name, version) => call('GET', `/models/${name}${version === '' ? '' : `/versions/${version}`}/config`),
  };
}

/** Ours, without a front end. */
export function ourServer(manager: ModelManager, serverVersion: string): Server {
  const answer = async (call: () => string | Promise<string>) => {
    try {
      return `200 ${await call()}`;
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      return `${error.httpStatus} ${error.message}`;
    }
  };
  return {
    do: ([kind, name, ...details]) =>
      answer(async () => {
        const config = details[kind === 'files' ? 1 : 0];
        const options: LoadOptions = {
          ...(config === undefined ? {} : { config }),
          ...(kind === 'files' && {
            files: new Map([[`${details[0]}/model.mjs`, new TextEncoder().encode(JAVASCRIPT_MODEL)]]),
          }),
        };
        if (kind === 'load' || kind === 'files') await manager.load(name, options);
        else await manager.unload(name, kind === 'unload with parts');
        return '';
      }),
    index: (ready) => Promise.resolve(manager.index(ready)),
    ready: () => Promise.resolve(manager.ready),
    ask: (name, version) => answer(() => configToJson(manager.config(name, version), serverVersion)),
  };
}
