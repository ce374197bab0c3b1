import type { LocalTriton } from '@zerohop/local-triton';
import { describeTier, privateTriton } from '@zerohop/test-support';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type TlsOptions, TritonClient } from '../../src/index.js';
import { Authority, type Certificate } from '../support/certificates.js';
import { ONE_FLOAT } from '../support/requests.js';

/** What calls of every kind come to: an answer's value, or the error's code and message. */
async function outcome(url: string, tls: TlsOptions): Promise<unknown> {
  const client = new TritonClient(url, { tls, connectTimeoutMs: 5_000 });
  try {
    const lane = (await client.infer('identity', ONE_FLOAT)).output('OUTPUT0').data[0];
    const unary = (await client.infer('identity', ONE_FLOAT, { headers: { 'x-a': 'b' } })).output('OUTPUT0').data[0];
    const zipped = (await client.infer('identity', ONE_FLOAT, { compression: 'gzip' })).output('OUTPUT0').data[0];
    const streamed = (await client.stream('identity', [ONE_FLOAT]).next()).value?.output('OUTPUT0').data[0];
    return [lane, unary, zipped, streamed, (await client.serverMetadata()).name];
  } catch (error) {
    const call = client.infer('identity', ONE_FLOAT);
    await expect(call).rejects.toMatchObject({ didNotRun: true });
    expect(await call.settled).toBe('not-sent');
    return error;
  } finally {
    await client.close();
  }
}

const SERVED = [3, 3, 3, 3, 'triton'];

describeTier('triton', 'TLS on a real server', () => {
  let authority: Authority;
  let other: Authority;
  let own: Certificate;
  let server: Certificate;

  beforeAll(() => {
    authority = new Authority();
    other = new Authority();
    server = authority.issue('server', ['DNS:triton.test', 'IP:127.0.0.1']);
    own = authority.issue('client', ['DNS:client.test']);
  });

  afterAll(() => {
    authority.remove();
    other.remove();
  });

  const start = (...args: string[]): Promise<LocalTriton> =>
    privateTriton({
      models: ['identity'],
      args: [
        '--grpc-use-ssl=true',
        `--grpc-server-cert=${server.certFile}`,
        `--grpc-server-key=${server.keyFile}`,
        ...args,
      ],
    });

  describe('of the server alone', () => {
    let triton: LocalTriton;
    let url: string;

    beforeAll(async () => {
      triton = await start();
      url = `grpcs://127.0.0.1:${triton.ports.grpc}`;
    });

    afterAll(() => triton.stop());

    test('every kind of call, and nothing is printed', async () => {
      const warn = vi.spyOn(process, 'emitWarning');
      expect(await outcome(url, { ca: authority.certificate.cert })).toEqual(SERVED);
      expect(await outcome(url, { ca: Buffer.from(authority.certificate.cert) })).toEqual(SERVED);
      expect(warn).not.toHaveBeenCalled();
      warn.mockRestore();
    });

    test('a name in place of the one of the address', async () => {
      const { cert: ca } = authority.certificate;
      const byName = `grpcs://localhost:${triton.ports.grpc}`;
      expect(await outcome(byName, { ca, serverName: 'triton.test' })).toEqual(SERVED);
      for (const tls of [{ ca }, { ca, serverName: 'another.test' }]) {
        expect(await outcome(byName, tls)).toMatchObject({
          code: 'TRITON_TLS',
          message: expect.stringContaining('use a name that it is for, or give that as tls.serverName'),
        });
      }
    });

    test.each<[string, () => TlsOptions]>([
      ['another authority', () => ({ ca: other.certificate.cert })],
      ['the authorities of Node', () => ({})],
    ])('%s: not trusted', async (_, tls) => {
      expect(await outcome(url, tls())).toMatchObject({
        code: 'TRITON_TLS',
        message: expect.stringContaining('is not trusted: give its authority as tls.ca'),
      });
    });

    test('without TLS', async () => {
      expect(await outcome(`grpc://127.0.0.1:${triton.ports.grpc}`, {})).toMatchObject({
        code: 'TRITON_UNAVAILABLE',
        message: expect.stringContaining('grpcs://'),
      });
    });

    test('TLS to a port without it', async () => {
      expect(await outcome(`grpcs://127.0.0.1:${triton.ports.http}`, {})).toMatchObject({
        code: 'TRITON_TLS',
        message: expect.stringContaining('there is no TLS server'),
      });
    });

    test.each<[string, TlsOptions]>([
      ['a path in place of an authority', { ca: '/etc/ca.pem' }],
      ['bytes that are no PEM', { ca: new Uint8Array(100) }],
      ['a certificate without its key', { cert: '-----BEGIN CERTIFICATE-----' }],
      ['a key that is none', { cert: '-----BEGIN CERTIFICATE-----', key: '-----BEGIN PRIVATE KEY-----' }],
    ])('%s throws at once', (_, tls) => {
      expect(() => new TritonClient(url, { tls })).toThrow(/^Expected .* for tls/);
    });
  });

  describe('of both sides', () => {
    let triton: LocalTriton;
    let url: string;

    beforeAll(async () => {
      triton = await start('--grpc-use-ssl-mutual=true', `--grpc-root-cert=${authority.certificate.certFile}`);
      url = `grpcs://127.0.0.1:${triton.ports.grpc}`;
    });

    afterAll(() => triton.stop());

    test('with a certificate that the server trusts', async () => {
      const { cert: ca } = authority.certificate;
      expect(await outcome(url, { ca, cert: own.cert, key: own.key })).toEqual(SERVED);
    });

    test.each<[string, () => TlsOptions]>([
      ['without one', () => ({})],
      ["with another authority's", () => ({ cert: other.certificate.cert, key: other.certificate.key })],
    ])('%s', async (_, tls) => {
      expect(await outcome(url, { ca: authority.certificate.cert, ...tls() })).toMatchObject({
        code: 'TRITON_TLS',
        message: expect.stringContaining('give tls.cert and tls.key'),
      });
    });
  });
});
