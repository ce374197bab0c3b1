import { expect } from 'vitest';
import { type TlsOptions, TritonClient, TritonError, tensor } from '../../../src/index.js';
import { accepted, type ConformanceCase, refused } from '../case.js';
import type { Context } from '../context.js';
import { addSub, one } from './requests.js';

const GRPC = { transports: ['grpc'] } as const;

const identity = { inputs: { INPUT0: tensor('FP32', [1, 1], Float32Array.of(1.5)) } };

/** The address behind TLS: the server's own gRPC, or a proxy in front of its HTTP. */
const secureUrl = (context: Context): string =>
  context.overHttp ? context.target.tls().httpsUrl : context.target.servers('locked').grpcUrl;

/** How a client and its server reach each other. */
export const transportCases: readonly ConformanceCase[] = [
  accepted('tls', 'mutual: both show a certificate', async (context) => {
    const client = context.open({ tls: context.target.tls().options }, secureUrl(context));
    expect((await client.infer('identity', identity)).output('OUTPUT0').data[0]).toBe(1.5);
  }),
  refused('tls', 'an authority that is not trusted', async (context) => {
    const { cert, key } = context.target.tls().options;
    const client = context.open({ tls: { cert, key } as TlsOptions }, secureUrl(context));
    await context.refusal(client.infer('identity', identity), {
      code: 'TRITON_TLS',
      details: /self-signed certificate/,
    });
  }),
  refused('tls', 'no certificate of the client', async (context) => {
    const { ca } = context.target.tls().options;
    const client = context.open({ tls: { ca } as TlsOptions, connectTimeoutMs: 3000 }, secureUrl(context));
    // The proxy in front of HTTP ends the connection without a word.
    const code = context.overHttp ? 'TRITON_CONNECTION_LOST' : 'TRITON_TLS';
    await context.refusal(client.infer('identity', identity), { code });
  }),
  accepted(
    'unix-socket',
    'on a lane',
    async (context) => {
      const client = context.open({}, context.urlOf('socket'));
      expect(client.isLocal).toBe(true);
      expect((await client.infer('identity', identity)).output('OUTPUT0').data[0]).toBe(1.5);
    },
    GRPC,
  ),
  refused(
    'unix-socket',
    'a path where nobody listens',
    async (context) => {
      const call = context.open({}, `${context.urlOf('socket')}0`).infer('identity', identity);
      await context.refusal(call, { code: 'TRITON_UNAVAILABLE' });
    },
    GRPC,
  ),
  accepted(
    'grpc-compression',
    'gzip, deflate',
    async ({ client }) => {
      for (const compression of ['gzip', 'deflate'] as const) {
        expect((await client.infer('add_sub', addSub(4), { compression })).output('OUTPUT0').data[63]).toBe(16);
      }
    },
    GRPC,
  ),
  refused(
    'grpc-compression',
    'an unknown one: by the client',
    (context) =>
      context.refusedByClient(
        () => context.client.infer('add_sub', addSub(), { compression: 'br' as 'gzip' }),
        TypeError,
        'compression',
      ),
    GRPC,
  ),
  refused(
    'http-compression',
    'an unknown one: by the client',
    (context) =>
      context.refusedByClient(
        () => context.client.infer('add_sub', addSub(), { compression: 'br' as 'gzip' }),
        TypeError,
        'compression',
      ),
    { transports: ['http'] },
  ),
  accepted(
    'keepalive',
    'an interval that servers allow',
    async (context) => {
      const client = context.open({ keepalive: { timeMs: 300_000, timeoutMs: 20_000 } });
      expect((await client.infer('add_sub', addSub())).outputs).toHaveLength(2);
    },
    GRPC,
  ),
  refused(
    'keepalive',
    'no interval: by the client',
    (context) =>
      context.refusedByClient(
        () => new TritonClient(context.urlOf('main'), { keepalive: { timeMs: 0 } }),
        RangeError,
        'keepalive.timeMs',
      ),
    GRPC,
  ),
  refused('message-size', 'more than the protocol can say: by the client', (context) =>
    context.refusedByClient(
      () => tensor('FP32', [2 ** 40, 2 ** 20], new Float32Array(1)),
      RangeError,
      'number of elements',
    ),
  ),
  refused('grpc-error-header', 'of a client, of a call: by the client, since it kills servers', async (context) => {
    const headers = { triton_grpc_error: 'true' };
    const code = 'TRITON_UNSAFE_REQUEST';
    for (const use of [
      () => new TritonClient(context.urlOf('main'), { headers }),
      () => context.client.infer('add_sub', addSub(), { headers }),
      () => context.client.isLive({ headers }),
    ]) {
      await expect(Promise.resolve().then<unknown>(use)).rejects.toMatchObject({ code });
    }
  }),
  // The last: the server that this target gives up.
  accepted('shutdown', 'what is under way is answered', async (context) => {
    const client = context.openLeaving();
    const held = await context.hold(one(), {}, client);
    const left = context.target.leave();
    // On a connection that is there already HTTP goes on until what is under way is done.
    const outcome = async () => {
      const other = context.openLeaving();
      const error = await other.infer('identity', identity).catch((reason: unknown) => reason);
      // An open stream would keep the server.
      await other.close();
      if (!(error instanceof TritonError)) return 'answered';
      context.note(error);
      return error.code;
    };
    await expect.poll(outcome, { timeout: 20_000 }).toMatch(/^TRITON_(NOT_FOUND|UNAVAILABLE|CONNECTION_LOST)$/);
    expect((await held.release()).outputs).toHaveLength(1);
    await client.close();
    await left;
  }),
  refused('shutdown', 'afterwards nobody answers: not sent', async (context) => {
    const client = context.openLeaving();
    const call = client.infer('identity', identity);
    await context.refusal(call, { code: 'TRITON_UNAVAILABLE' });
    expect(await call.settled).toBe('not-sent');
    expect(await client.isReady()).toBe(false);
  }),
];
