import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LocalTriton } from '@zerohop/local-triton';
import { describeTier, privateTriton } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RawTriton } from '../../../triton-client/test/support/raw-triton.js';
import { GRPCInferenceServiceService as Service } from '../../src/grpc/gen/grpc_service.js';
import { LogSettings } from '../../src/settings/log-settings.js';
import { TraceSettings } from '../../src/settings/trace-settings.js';
import { type Outcome, outcomeOf } from '../support/outcome.js';
import { type Pick, picking } from '../support/pick.js';

type Changes = Record<string, unknown>;

const MODEL = 'identity_64';
const ready = (model: string) => model === MODEL;

const NUMBERS = [
  '5',
  '-5',
  '0',
  '-1',
  '-2',
  '2147483647',
  '2147483648',
  '-2147483648',
  '-2147483649',
  '4294967296',
].concat(['99999999999999999999999', 'x', '5x', ' 7', '\t+8', '+-1', '', '1.5', '0x10', '1e3', '１']);
const LEVELS = [
  ['TIMESTAMPS'],
  ['TENSORS'],
  ['TENSORS', 'TIMESTAMPS'],
  ['OFF'],
  ['OFF', 'TENSORS'],
  ['OFF', 'OFF'],
].concat([['TIMESTAMPS', 'OFF'], ['MIN'], ['timestamps'], ['bad', 'TIMESTAMPS'], []]);

const names = ['trace_level', 'trace_rate', 'trace_count', 'log_frequency', 'trace_file', 'trace_mode', 'nope'];

function traceChanges(pick: Pick, protocol: 'grpc' | 'http'): Changes {
  const value = (name: string): unknown => {
    if (protocol === 'http' && pick([true, false, false, false])) return pick([null, 5, true, [], {}, 'x', ['OFF', 5]]);
    if (name === 'trace_level') return pick(LEVELS);
    if (protocol === 'http') return pick(NUMBERS);
    return pick([[pick(NUMBERS)], [pick(NUMBERS)], [], ['5', '6']]);
  };
  const chosen = new Set(
    Array.from({ length: pick([0, 1, 1, 2, 3]) }, () => pick([...names.slice(0, 4), pick(names)])),
  );
  return Object.fromEntries([...chosen].map((name) => [name, value(name)]));
}

function logChanges(pick: Pick, protocol: 'grpc' | 'http'): Changes {
  const numbers = [0, 1, 5, 2147483647, 2147483648, 4294967295];
  const value = (name: string): unknown => {
    const odd = [true, 3, 'x', '', undefined, ...(protocol === 'http' ? [null, -1, 1.5, 4294967296, [], {}] : [])];
    if (pick([true, false, false])) return pick(protocol === 'http' ? odd.filter((one) => one !== undefined) : odd);
    if (name === 'log_format') return pick(['default', 'ISO8601', 'bad', 'iso8601']);
    return name === 'log_verbose_level' ? pick(numbers) : pick([true, false]);
  };
  const all = ['log_info', 'log_warning', 'log_error', 'log_verbose_level', 'log_format'];
  const chosen = new Set(
    Array.from({ length: pick([0, 1, 1, 2, 3]) }, () => pick([...all, pick(['log_file', 'nope', ...all])])),
  );
  return Object.fromEntries([...chosen].map((name) => [name, value(name)]));
}

const parameter = (value: unknown) => {
  if (typeof value === 'boolean') return { bool_param: value };
  if (typeof value === 'number') return { uint32_param: value };
  return typeof value === 'string' ? { string_param: value } : {};
};

describeTier('triton', 'settings are those of a real 2.51', () => {
  let folder: string;
  let servers: { triton: LocalTriton; raw: RawTriton; file: string }[];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'zerohop-devserver-'));
    const file = join(folder, 'trace.json');
    const tracing = [`--trace-config=triton,file=${file}`, '--trace-config=level=OFF'];
    servers = await Promise.all(
      [[], tracing].map(async (args) => {
        const triton = await privateTriton({ models: [MODEL], args });
        return { triton, raw: new RawTriton(triton.grpcUrl, triton.httpUrl), file: args.length === 0 ? '' : file };
      }),
    );
  });

  afterAll(async () => {
    for (const { raw } of servers) raw.close();
    await Promise.all(servers.map(({ triton }) => triton.stop()));
    rmSync(folder, { recursive: true });
  });

  /** Without a body, it is a GET. */
  async function overHttp(url: string, path: string, body: unknown): Promise<Outcome> {
    const request = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(url + path, request);
    const value = (await response.json()) as { error: string };
    return response.status === 200 ? { code: 0, value } : { code: response.status, text: value.error };
  }

  const seed = randomInt(2 ** 31);

  test.each([0, 1] as const)(`trace settings, server %i (seed ${seed})`, async (index) => {
    const { triton, raw, file } = servers[index] ?? expect.fail();
    const ours = new TraceSettings({ file });
    const pick = picking(seed + index);
    for (let step = 0; step < 600; step += 1) {
      const model = pick(['', '', MODEL, MODEL, 'no-such-model']);
      const protocol = pick(['grpc', 'http'] as const);
      const reads = protocol === 'http' && pick([true, false, false, false, false, false]);
      const changes = reads ? undefined : traceChanges(pick, protocol);
      let real: Outcome;
      if (protocol === 'http') {
        real = await overHttp(triton.httpUrl, `/v2${model === '' ? '' : `/models/${model}`}/trace/setting`, changes);
      } else {
        const settings = Object.fromEntries(
          Object.entries(changes ?? {}).map(([name, value]) => [name, { value: value as string[] }]),
        );
        const got = await raw.call(Service.traceSetting, { model_name: model, settings });
        real = 'answer' in got ? { code: 0, value: got.answer.settings } : { code: got.code, text: got.details };
      }
      const got = await outcomeOf(protocol, () => {
        const settings = Object.entries(ours.update(model, changes, protocol, ready));
        if (protocol === 'grpc') return Object.fromEntries(settings.map(([name, value]) => [name, { value }]));
        return Object.fromEntries(settings.map(([name, value]) => [name, name === 'trace_level' ? value : value[0]]));
      });
      expect(got, `step ${step}: ${protocol} '${model}' ${JSON.stringify(changes)}`).toEqual(real);
      if ('value' in real && protocol === 'http' && 'value' in got) {
        expect(Object.keys(got.value as object)).toEqual(Object.keys(real.value as object));
      }
    }
  });

  test(`log settings (seed ${seed})`, async () => {
    const { triton, raw } = servers[0] ?? expect.fail();
    const ours = new LogSettings();
    const pick = picking(seed);
    for (let step = 0; step < 600; step += 1) {
      const protocol = pick(['grpc', 'http'] as const);
      const changes = logChanges(pick, protocol);
      let real: Outcome;
      if (protocol === 'http') {
        real = await overHttp(triton.httpUrl, '/v2/logging', changes);
      } else {
        const settings = Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, parameter(value)]));
        const got = await raw.call(Service.logSettings, { settings });
        real = 'answer' in got ? { code: 0, value: got.answer.settings } : { code: got.code, text: got.details };
      }
      const got = await outcomeOf(protocol, () => {
        const settings = ours.update(changes, protocol);
        if (protocol === 'http') return settings;
        return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, parameter(value)]));
      });
      expect(got, `step ${step}: ${protocol} ${JSON.stringify(changes)}`).toEqual(real);
      if ('value' in real && protocol === 'http' && 'value' in got) {
        expect(Object.keys(got.value as object)).toEqual(Object.keys(real.value as object));
      }
    }
  });
});
