import { constants, type ServerHttp2Stream } from 'node:http2';
import { describe, expect, onTestFinished, test } from 'vitest';
import { TritonClient } from '../../src/index.js';
import { failure } from '../support/outcome.js';
import { RawGrpcServer } from '../support/raw-grpc-server.js';
import { HEADERS, IN_REGION } from '../support/requests.js';

const { NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = constants;

/** What a server that dies, or a proxy before it, makes of a stream. */
const ENDS: readonly (readonly [how: string, end: (stream: ServerHttp2Stream) => void])[] = [
  ['the stream closed without a status', (stream) => stream.close(NGHTTP2_NO_ERROR)],
  ['the stream reset with an error', (stream) => stream.close(NGHTTP2_INTERNAL_ERROR)],
  ['the connection ended', (stream) => stream.session?.destroy()],
];

describe.each(ENDS)('%s', (_, end) => {
  async function clientOf(): Promise<TritonClient> {
    const server = await RawGrpcServer.start((stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
      // Once the request has come.
      stream.once('data', () => end(stream));
    });
    onTestFinished(() => server.stop());
    const client = new TritonClient(server.url);
    onTestFinished(() => client.close());
    return client;
  }

  test.each([
    ['a lane', undefined],
    ['a unary call', { headers: HEADERS }],
  ])('is a lost connection for %s', async (_way, options) => {
    const client = await clientOf();
    const call = client.infer('m', IN_REGION, options);
    expect(await failure(call)).toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
    expect(await call.settled).toBe('lost');
  });

  test('is a lost connection for a stream of answers and for any other call', async () => {
    const client = await clientOf();
    const answers = client.stream('m', [IN_REGION]);
    expect(await failure(answers.next())).toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
    expect(await failure(client.isReady({ timeoutMs: 10_000 }))).toMatchObject({ code: 'TRITON_CONNECTION_LOST' });
  });
});
