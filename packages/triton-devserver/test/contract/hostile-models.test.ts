import { describe, expect, test } from 'vitest';
import type { Execute, ExecuteDecoupled, ModelDefinition, ModelOutputs } from '../../src/index.js';
import { clientOf, codeOf, faultServer, ints, sender, WAYS } from '../support/fault-server.js';
import { rawHttp } from '../support/raw-http.js';

const INT32 = { data_type: 'TYPE_INT32', dims: [-1n] } as const;
const config = { input: [{ name: 'X', ...INT32 }], output: [{ name: 'Y', ...INT32 }] };

const getter = (name: string) =>
  Object.defineProperty({}, name, {
    get() {
      throw new Error('a getter');
    },
  });
const refusing = (): object =>
  new Proxy(
    {},
    {
      get: () => {
        throw new Error('a trap');
      },
      getPrototypeOf: () => {
        throw new Error('a trap');
      },
      has: () => {
        throw new Error('a trap');
      },
    },
  );
const detached = () => {
  const data = Int32Array.of(1, 2);
  structuredClone(data, { transfer: [data.buffer] });
  return data;
};
const error = (changes: object) => Object.defineProperties(new Error('x'), Object.getOwnPropertyDescriptors(changes));

/** What a model may throw. */
const THROWN: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  'a symbol': () => Symbol('x'),
  'an object without a prototype': () => Object.create(null) as object,
  'an object whose text throws': () => ({
    toString() {
      throw new Error('no text');
    },
  }),
  'a proxy that refuses everything': refusing,
  'a proxy that was revoked': () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  'an error whose message throws': () => error(getter('message')),
  'an error whose code throws': () => error(getter('code')),
  'an error whose name is a symbol': () => error({ name: Symbol('x') }),
  'an error whose message is an object': () => error({ message: Object.create(null) as object }),
  'an error with a code and a message that is no text': () => error({ code: 'INTERNAL', message: 7 }),
  'half of a surrogate pair': () => new Error('\ud800'),
  'control characters': () => new Error('a\r\nb\0c'),
  'a megabyte of text': () => new Error('x'.repeat(2 ** 20)),
};

/** What a model may give in place of its outputs. */
const GIVEN: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  'a number': () => 5,
  'a proxy that refuses everything': refusing,
  'outputs whose getter throws': () => getter('Y'),
  'an output that is null': () => ({ Y: null }),
  'an output without data': () => ({ Y: { shape: [1] } }),
  'an output without a shape': () => ({ Y: { data: Int32Array.of(1) } }),
  'an output whose data is null': () => ({ Y: { shape: [1], data: null } }),
  'an output whose data throws': () => ({ Y: Object.assign(getter('data'), { shape: [1] }) }),
  'data of another type': () => ({ Y: { shape: [1], data: Float64Array.of(1) } }),
  'data that is an object': () => ({ Y: { shape: [1], data: { length: 1 } } }),
  'data that only says its type': () => ({
    Y: { shape: [1], data: { length: 1, [Symbol.toStringTag]: 'Int32Array' } },
  }),
  'data without a prototype': () => ({ Y: { shape: [1], data: Object.create(null) as object } }),
  'texts for numbers': () => ({ Y: { shape: [1], data: ['a'] } }),
  'data that is detached': () => ({ Y: { shape: [2], data: detached() } }),
  'too much data': () => ({ Y: { shape: [1], data: new Int32Array(1000) } }),
  'a shape of halves': () => ({ Y: { shape: [0.5, 2], data: Int32Array.of(1) } }),
  'a shape of texts': () => ({ Y: { shape: ['1'], data: Int32Array.of(1) } }),
  'a shape of nothing': () => ({ Y: { shape: [undefined, 1], data: Int32Array.of(1) } }),
  'a shape that is not a list': () => ({ Y: { shape: 1, data: Int32Array.of(1) } }),
  'a shape below zero': () => ({ Y: { shape: [-1, -1], data: Int32Array.of(1) } }),
  'a shape with infinity': () => ({ Y: { shape: [0, Number.POSITIVE_INFINITY], data: new Int32Array(0) } }),
  'a shape beyond 64 bits': () => ({ Y: { shape: [0, 2 ** 80], data: new Int32Array(0) } }),
  'a shape of big integers': () => ({ Y: { shape: [1n], data: Int32Array.of(1) } }),
};

/** What a decoupled model may give in place of its answers. */
const ANSWERS: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  'a number': () => 5,
  'a list of numbers': () => [1, 2],
  'a list of nothing': () => [undefined],
  'no outputs': () => [{}],
  'an error that is nothing': () => [{ error: undefined }],
  'an error that refuses everything': () => [{ error: refusing() }],
  'a proxy that refuses everything': refusing,
  'an iterator that never began': () => ({ [Symbol.asyncIterator]: () => ({}) }),
  'an iterator whose end throws': () => ({
    [Symbol.asyncIterator]: () => ({
      next: async () => ({ value: { outputs: { Y: { shape: [1], data: Int32Array.of(1) } }, final: true } }),
      return: () => {
        throw new Error('no end');
      },
    }),
  }),
};

const oneStep = (model: string): ModelDefinition => ({
  config: {
    platform: 'ensemble',
    ...config,
    ensemble_scheduling: {
      step: [{ model_name: model, model_version: -1n, input_map: { X: 'X' }, output_map: { Y: 'Y' } }],
    },
  },
});

async function hostile(execute: () => unknown) {
  const decoupled = { ...config, model_transaction_policy: { decoupled: true } };
  return faultServer({
    models: {
      hostile: { config, execute: execute as Execute },
      late: { config, execute: () => Promise.resolve().then(execute) as Promise<ModelOutputs> },
      batched: { config: { ...config, dynamic_batching: {}, max_batch_size: 4 }, execute: execute as Execute },
      inside: oneStep('hostile'),
      often: { config: decoupled, executeDecoupled: execute as ExecuteDecoupled },
    },
  });
}

const throwing = (value: () => unknown) => () => {
  throw value();
};

describe.each(WAYS)('a model that, by %s,', (way) => {
  const all = [
    ...Object.entries(THROWN).map(([name, value]) => [`throws ${name}`, throwing(value), /^TRITON_/] as const),
    ...Object.entries(GIVEN).map(([name, value]) => [`gives ${name}`, value, /^(TRITON_|OK)/] as const),
  ];
  test.each(all)('%s is answered, and the server goes on', async (_, execute, answer) => {
    const { server } = await hostile(execute);
    const { client, send } = sender(server, way);
    for (const model of ['hostile', 'late', 'inside']) {
      const code = await codeOf(send(model, ints(1), { timeoutMs: 5000 }));
      expect(code, model).toMatch(answer);
      expect(code, model).not.toMatch(/TIMEOUT|LOST/);
    }
    const batch = { inputs: { X: { ...ints(1).inputs.X, shape: [1, 1] } } };
    expect(await codeOf(send('batched', batch, { timeoutMs: 5000 }))).not.toMatch(/TIMEOUT|LOST/);
    expect(await codeOf(send('same', ints(1)))).toBe('OK');
    await client.close();
    await server.stop();
  });
});

describe('a decoupled model that', () => {
  const all = [
    ...Object.entries(THROWN).map(([name, value]) => [`throws ${name}`, throwing(value)] as const),
    ...Object.entries(GIVEN).map(([name, value]) => [`gives ${name}`, () => [{ outputs: value() }]] as const),
    ...Object.entries(ANSWERS).map(([name, value]) => [`answers ${name}`, value] as const),
  ];
  test.each(all)('%s is answered, and the server goes on', async (_, execute) => {
    const { server } = await hostile(execute);
    const client = clientOf(server.grpcUrl);
    const stream = async () => {
      for await (const answer of client.stream('often', [ints(1)], { timeoutMs: 5000 })) void answer;
    };
    expect(await codeOf(stream())).not.toMatch(/TIMEOUT|LOST/);
    for (const kind of ['generate', 'generate_stream']) {
      const answer = await rawHttp(server.httpUrl, { path: `/v2/models/often/${kind}`, body: '{"X":1}' });
      expect(answer.status, kind).toMatch('HTTP/1.1 ');
    }
    expect(await codeOf(client.infer('same', ints(1)))).toBe('OK');
    await client.close();
    await server.stop();
  });
});

describe('a model whose code', () => {
  const start = (models: Readonly<Record<string, ModelDefinition>>) =>
    faultServer({ models, exitOnError: false, strictReadiness: false, exitTimeoutMs: 50 });

  test.each(Object.entries(THROWN))('throws %s while it begins is unavailable, with a reason', async (_, value) => {
    const { server } = await start({ hostile: { config, create: throwing(value) } });
    const entry = server.models().find(({ name }) => name === 'hostile');
    expect(entry?.state).toBe('UNAVAILABLE');
    expect(entry?.reason).not.toBe('');
    expect(await codeOf(clientOf(server.grpcUrl).infer('same', ints(1)))).toBe('OK');
  });

  test.each(['stop', 'kill', 'restart'] as const)('never ends does not keep a server from %s', async (end) => {
    let begun = 0;
    const never = () => {
      begun += 1;
      return new Promise<never>(() => undefined);
    };
    const { server } = await start({
      hostile: { config, execute: never },
      batched: { config: { ...config, max_batch_size: 1, dynamic_batching: {} }, execute: never },
      stays: { config, create: () => ({ execute: () => ({}), close: never }) },
    });
    const client = clientOf(server.grpcUrl);
    const batch = { inputs: { X: { ...ints(1).inputs.X, shape: [1, 1] } } };
    const lost = [
      codeOf(client.infer('hostile', ints(1))),
      ...Array.from({ length: 6 }, () => codeOf(client.infer('batched', batch))),
    ];
    await expect.poll(() => begun).toBe(2);
    await server[end]();
    expect(new Set(await Promise.all(lost))).toEqual(new Set(['TRITON_CONNECTION_LOST']));
  });
});
