import { once } from 'node:events';
import { type AddressInfo, connect as connectTo } from 'node:net';
import { createServer, type TlsOptions } from 'node:tls';
import { describeTier, sharedTriton } from '@zerohop/test-support';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type TritonClient, type TritonClientOptions, tensor } from '../../src/index.js';
import { Authority, type Certificate } from '../support/certificates.js';
import { connect } from '../support/for-one-test.js';

/** Triton has no TLS of its own for HTTP: a proxy before the real server has, as in production. */
describeTier('triton', 'HTTPS before a real server', () => {
  let authority: Authority;
  let certificate: Certificate;
  let own: Certificate;

  beforeAll(() => {
    authority = new Authority();
    certificate = authority.issue('server', ['DNS:triton.test', 'IP:127.0.0.1']);
    own = authority.issue('client', ['DNS:client.test']);
  });

  afterAll(() => authority.remove());

  async function proxy(options: TlsOptions = {}): Promise<number> {
    const { port } = new URL(sharedTriton().httpUrl);
    const server = createServer({ cert: certificate.cert, key: certificate.key, ...options }, (socket) => {
      const upstream = connectTo(Number(port), '127.0.0.1');
      socket.pipe(upstream).pipe(socket);
      for (const end of [socket, upstream]) end.on('error', () => [socket, upstream].map((each) => each.destroy()));
      socket.on('close', () => upstream.destroy());
    });
    server.on('tlsClientError', () => {});
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.close();
    });
    return (server.address() as AddressInfo).port;
  }

  function open(port: number, options: TritonClientOptions, host = '127.0.0.1'): TritonClient {
    const client = connect(`https://${host}:${port}`, options);
    return client;
  }

  const request = { inputs: { INPUT0: tensor('FP32', [1, 2], Float32Array.of(1, 2)) } };

  test.each([
    ['127.0.0.1', undefined],
    ['localhost', 'triton.test'],
  ])('a trusted server at %s, named %s', async (host, serverName) => {
    const tls = { ca: authority.certificate.cert, ...(serverName !== undefined && { serverName }) };
    const client = open(await proxy(), { tls }, host);
    expect(await client.isReady()).toBe(true);
    expect((await client.infer('identity', request)).output('OUTPUT0').data).toEqual(Float32Array.of(1, 2));
    const large = { inputs: { INPUT0: tensor('FP32', [1000, 1000], new Float32Array(1e6).fill(3)) } };
    expect((await client.infer('identity', large)).output('OUTPUT0').data.at(-1)).toBe(3);
  });

  test('mutual TLS', async () => {
    const port = await proxy({ requestCert: true, rejectUnauthorized: true, ca: authority.certificate.cert });
    const ca = authority.certificate.cert;
    const client = open(port, { tls: { ca, cert: Buffer.from(own.cert), key: own.key } });
    expect((await client.infer('identity', request)).output('OUTPUT0').data).toEqual(Float32Array.of(1, 2));
    // The handshake was over when the server refused: whether it read the request cannot be told.
    const closed = open(port, { tls: { ca } }).infer('identity', request);
    await expect(closed).rejects.toMatchObject({
      code: 'TRITON_CONNECTION_LOST',
      message: expect.stringContaining('tls.cert'),
    });
    expect(await closed.settled).toBe('lost');
  });

  test('a server that nobody vouches for, and one of another name', async () => {
    const port = await proxy();
    const stranger = open(port, {}).infer('identity', request);
    await expect(stranger).rejects.toMatchObject({
      code: 'TRITON_TLS',
      message: expect.stringContaining('tls.ca'),
    });
    expect(await stranger.settled).toBe('not-sent');
    const tls = { ca: authority.certificate.cert, serverName: 'other.test' };
    await expect(open(port, { tls }).serverMetadata()).rejects.toMatchObject({
      code: 'TRITON_TLS',
      message: expect.stringContaining('tls.serverName'),
    });
  });

  test('https to a port without TLS, and http to one with it', async () => {
    const { port } = new URL(sharedTriton().httpUrl);
    await expect(open(Number(port), {}).serverMetadata()).rejects.toMatchObject({ code: 'TRITON_TLS' });
    const plain = connect(`http://127.0.0.1:${await proxy()}`);
    await expect(plain.serverMetadata()).rejects.toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
  });
});
