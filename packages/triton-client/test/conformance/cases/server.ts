import { expect, onTestFinished } from 'vitest';
import { accepted, type ConformanceCase, refused } from '../case.js';
import type { Context } from '../context.js';

/** Nobody listens there: port 1 needs rights that nothing here has. */
const nobody = (context: Context): string => (context.overHttp ? 'http://127.0.0.1:1' : 'grpc://127.0.0.1:1');

/** Everything that a client asks of the server as a whole. */
export const serverCases: readonly ConformanceCase[] = [
  accepted('server-live', 'the server lives', async ({ client }) => {
    expect(await client.isLive()).toBe(true);
  }),
  refused('server-live', 'nobody answers: false, not an error', async (context) => {
    expect(await context.open({}, nobody(context)).isLive()).toBe(false);
  }),
  accepted('server-ready', 'the server is ready', async ({ client }) => {
    expect(await client.isReady()).toBe(true);
  }),
  refused('server-ready', 'nobody answers: false, not an error', async (context) => {
    expect(await context.open({}, nobody(context)).isReady()).toBe(false);
  }),
  accepted(
    'health-check',
    'every service is served',
    async ({ client }) => {
      for (const service of ['', 'inference.GRPCInferenceService', 'no-such-service']) {
        expect(await client.health(service)).toBe('SERVING');
      }
    },
    { transports: ['grpc'] },
  ),
  refused(
    'health-check',
    'nobody answers: TRITON_UNAVAILABLE',
    async (context) => {
      await context.refusal(context.open({}, nobody(context)).health(), { code: 'TRITON_UNAVAILABLE' });
    },
    { transports: ['grpc'] },
  ),
  refused(
    'health-check',
    'HTTP has no such call',
    (context) => context.refusal(context.client.health(), { code: 'TRITON_UNIMPLEMENTED' }).then(() => undefined),
    { transports: ['http'] },
  ),
  accepted('server-metadata', 'name, version, extensions', async ({ client, target }) => {
    const { name, version, extensions } = await client.serverMetadata();
    expect([name, version]).toEqual(['triton', `${target.version}.0`]);
    expect(extensions).toEqual(
      expect.arrayContaining(['classification', 'sequence', 'model_repository', 'system_shared_memory', 'statistics']),
    );
  }),
  refused('server-metadata', 'restricted', async (context) => {
    const call = context.openLocked().serverMetadata();
    await context.refusal(call, { code: 'TRITON_UNAVAILABLE', details: 'restricted, expecting header' });
  }),

  accepted('trace-setting', 'changed and cleared, of the server', async ({ client }) => {
    const before = await client.traceSettings();
    onTestFinished(
      async () => void (await client.traceSettings({ level: null, rate: null, count: null, logFrequency: null })),
    );
    const changed = await client.traceSettings({ level: ['TIMESTAMPS'], rate: 1_000_000, count: 5, logFrequency: 3 });
    expect(changed).toMatchObject({ level: ['TIMESTAMPS'], rate: 1_000_000, count: 5, logFrequency: 3 });
    expect(await client.traceSettings()).toEqual(changed);
    const cleared = await client.traceSettings({ level: null, rate: null, count: null, logFrequency: null });
    expect(cleared).toMatchObject({ level: before.level, rate: before.rate });
  }),
  accepted('trace-setting', 'of one model, which the server’s then do not change', async ({ client }) => {
    onTestFinished(async () => void (await client.traceSettings({ model: 'add_sub', rate: null })));
    expect(await client.traceSettings({ model: 'add_sub', rate: 11 })).toMatchObject({ rate: 11 });
    expect((await client.traceSettings()).rate).not.toBe(11);
  }),
  refused('trace-setting', 'a rate that the server would wrap around', (context) =>
    context.refusedByClient(() => context.client.traceSettings({ rate: -5 }), RangeError, 'rate'),
  ),
  refused('trace-setting', 'no more traces at all, an unknown model', async (context) => {
    const { client } = context;
    onTestFinished(async () => void (await client.traceSettings({ level: null, rate: null })));
    await client.traceSettings({ level: ['TIMESTAMPS'], rate: 1_000_000 });
    await context.refusal(client.traceSettings({ count: 0 }), {
      code: 'TRITON_INVALID_ARGUMENT',
      details: 'Attempting to set invalid trace setting',
    });
    await context.refusal(context.client.traceSettings({ model: 'no-such-model' }), {
      code: 'TRITON_INVALID_ARGUMENT',
      details: 'Request for unknown model : no-such-model',
    });
  }),

  accepted('log-settings', 'changed and set back', async ({ client }) => {
    const before = await client.logSettings();
    const { info, warning, error, verboseLevel } = before;
    onTestFinished(
      async () => void (await client.logSettings({ info, warning, error, verboseLevel, format: 'default' })),
    );
    const changed = await client.logSettings({ warning: false, verboseLevel: 0, format: 'ISO8601' });
    expect(changed).toMatchObject({ info, warning: false, error, format: 'ISO8601' });
    expect(await client.logSettings()).toEqual(changed);
  }),
  refused('log-settings', 'an unknown format', async (context) => {
    const format = 'no-such-format' as 'default';
    await context.refusal(context.client.logSettings({ format }), {
      code: 'TRITON_INVALID_ARGUMENT',
      details: 'log_format, got: no-such-format',
    });
  }),
  refused('log-settings', 'a level that is no 32-bit number', (context) =>
    context.refusedByClient(() => context.client.logSettings({ verboseLevel: 2 ** 32 }), TypeError, 'verboseLevel'),
  ),
];
