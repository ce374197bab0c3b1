import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { LookupAddress } from 'node:dns';
import dns from 'node:dns';
import { expect, onTestFinished, test, vi } from 'vitest';
import { TritonClient, type TritonClientOptions } from '../../src/index.js';
import { connect, startRaw } from '../support/for-one-test.js';
import { answer, type RawGrpcServer } from '../support/raw-grpc-server.js';
import { IN_REGION } from '../support/requests.js';

/** What the resolver of this process says; servers listen at these addresses. */
function resolveTo(names: Record<string, readonly string[]>): void {
  const found = (name: string): LookupAddress[] | undefined =>
    names[name]?.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  const { lookup } = dns;
  const { lookup: promised } = dns.promises;
  vi.spyOn(dns, 'lookup').mockImplementation(((name: string, options: object, done: (...args: unknown[]) => void) => {
    const list = found(name);
    if (list === undefined) lookup(name, options, done);
    else setImmediate(done, null, list);
  }) as typeof lookup);
  vi.spyOn(dns.promises, 'lookup').mockImplementation((async (name: string, options: object) => {
    return found(name) ?? (await promised(name, options));
  }) as typeof promised);
  onTestFinished(() => void vi.restoreAllMocks());
}

/** Takes requests and answers none. */
const start = (host: string, port = 0): Promise<RawGrpcServer> =>
  startRaw(
    (stream, method) => {
      if (method === 'ServerLive') answer(stream, Uint8Array.of(8, 1));
    },
    { host, port },
  );

function warnings(): () => { code: string | undefined; message: string }[] {
  const emit = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  onTestFinished(() => emit.mockRestore());
  return () =>
    emit.mock.calls.map(([message, options]) => ({
      code: (options as unknown as { code?: string } | undefined)?.code,
      message: String(message),
    }));
}

test('the peer is the address that answered, kept while it is connected; another one is told', async () => {
  const first = await start('127.0.0.2');
  const second = await start('127.0.0.3', first.port);
  const names = { 'peers.test': ['127.0.0.2', '127.0.0.3'] };
  resolveTo(names);
  warnings();
  const changes: unknown[] = [];
  const onChange = (message: unknown) => void changes.push(message);
  subscribe('zerohop:triton-client:peer-changed', onChange);
  onTestFinished(() => void unsubscribe('zerohop:triton-client:peer-changed', onChange));

  const client = connect(`grpc://peers.test:${first.port}`);
  expect(client.peer).toBeUndefined();
  for (let index = 0; index < 5; index += 1) expect(await client.isLive()).toBe(true);
  expect(client.peer).toBe(`127.0.0.2:${first.port}`);
  // The order of a name's addresses changes with each look at it; a connection stays where it is.
  names['peers.test'] = ['127.0.0.3', '127.0.0.2'];
  expect(await client.isLive()).toBe(true);
  expect([first.connections, second.connections]).toEqual([1, 0]);

  first.stop();
  await vi.waitFor(async () => expect(await client.isLive()).toBe(true), { timeout: 5000 });
  expect(client.peer).toBe(`127.0.0.3:${first.port}`);
  expect(changes).toEqual([{ url: client.url, before: `127.0.0.2:${first.port}`, after: `127.0.0.3:${first.port}` }]);
});

test('several addresses of one family: one warning for a name', async () => {
  const server = await start('127.0.0.2');
  resolveTo({ 'several.test': ['127.0.0.2', '127.0.0.3', '::1'] });
  const seen = warnings();
  for (let index = 0; index < 2; index += 1) {
    const client = connect(`grpc://several.test:${server.port}`);
    void client.infer('m', IN_REGION).catch(() => {});
    await vi.waitFor(() => expect(seen()).toHaveLength(1));
  }
  expect(seen()).toEqual([
    {
      code: 'ZEROHOP_SEVERAL_ADDRESSES',
      message: expect.stringContaining(`'several.test:${server.port}' has several addresses (127.0.0.2, 127.0.0.3)`),
    },
  ]);
});

test.each<[string, string, readonly string[]]>([
  ['one address of each family', 'single.test', ['127.0.0.2', '::1']],
  ['localhost', 'localhost', ['127.0.0.2', '127.0.0.3']],
  ['an address', '127.0.0.2', []],
])('%s: no warning', async (_, host, addresses) => {
  const server = await start('127.0.0.2');
  if (addresses.length > 0) resolveTo({ [host]: addresses });
  const seen = warnings();
  const client = connect(`grpc://${host}:${server.port}`);
  void client.infer('m', IN_REGION).catch(() => {});
  await vi.waitFor(() => expect(server.calls).toContain('ModelStreamInfer'));
  // Known with the first answer, which may come after the request has gone out.
  await expect.poll(() => client.peer).toBe(`127.0.0.2:${server.port}`);
  expect(seen()).toEqual([]);
});

test('a name that is not known', async () => {
  const client = connect('grpc://no-such-name.invalid:8001');
  const call = client.infer('m', IN_REGION);
  await expect(call).rejects.toMatchObject({ code: 'TRITON_UNAVAILABLE', didNotRun: true });
  expect(await call.settled).toBe('not-sent');
});

test('keepalive: pings go out; a time that Triton punishes gives a warning', async () => {
  const server = await start('127.0.0.1');
  const seen = warnings();
  const client = connect(server.url, { keepalive: { timeMs: 50, timeoutMs: 1000 } });
  const pings = vi.fn();
  void client.infer('m', IN_REGION).catch(() => {});
  await vi.waitFor(() => expect(server.calls).toContain('ModelStreamInfer'));
  for (const session of server.sessions) session.on('ping', pings);
  await vi.waitFor(() => expect(pings).toHaveBeenCalled(), { timeout: 5000 });
  expect(seen()).toMatchObject([{ code: 'ZEROHOP_KEEPALIVE' }]);
  connect(server.url, { keepalive: { timeMs: 300_000 } });
  expect(seen()).toHaveLength(1);
});

test.each([null, {}, { timeMs: 0 }, { timeMs: 300_000, timeoutMs: 0 }, { timeMs: 2 ** 31 }])(
  'keepalive %j is refused',
  (keepalive) => {
    const wrong = { keepalive } as unknown as TritonClientOptions;
    expect(() => new TritonClient('grpc://localhost:1', wrong)).toThrow(/^Expected /);
  },
);
