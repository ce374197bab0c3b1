import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ModelInferRequest } from '../../src/grpc/gen/grpc_service.js';
import type { DevServer } from '../../src/index.js';
import { clientOf, codeOf, faultServer, ints } from '../support/fault-server.js';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const [DATA, HEADERS, PRIORITY, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
];

function frame(type: number | undefined, stream: number, payload: Uint8Array = Buffer.alloc(0), flags = 0): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.byteLength, 0, 3);
  head[3] = type ?? 0;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** HPACK without a table: literal names and values. */
function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const text = (value: string) => {
    const bytes = Buffer.from(value);
    const length = bytes.byteLength;
    if (length < 127) return Buffer.concat([Buffer.of(length), bytes]);
    const rest = length - 127;
    return Buffer.concat([Buffer.of(127, (rest & 127) | 128, ((rest >> 7) & 127) | 128, (rest >> 14) & 127), bytes]);
  };
  return Buffer.concat(Object.entries(headers).flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]));
}

const call = (path: string, more: Readonly<Record<string, string>> = {}) =>
  headerBlock({
    ':method': 'POST',
    ':scheme': 'http',
    ':path': path,
    ':authority': 'test',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...more,
  });
const INFER = '/inference.GRPCInferenceService/ModelInfer';
const STREAM = '/inference.GRPCInferenceService/ModelStreamInfer';

function message(bytes: Uint8Array, { compressed = 0, length = bytes.byteLength } = {}): Buffer {
  const head = Buffer.alloc(5);
  head[0] = compressed;
  head.writeUInt32BE(length >>> 0, 1);
  return Buffer.concat([head, bytes]);
}

const request = Buffer.from(
  ModelInferRequest.encode(
    ModelInferRequest.fromPartial({
      model_name: 'same',
      inputs: [{ name: 'X', datatype: 'INT32', shape: [1n] }],
      raw_input_contents: [new Uint8Array(4)],
    }),
  ).finish(),
);

const repeated = (count: number, make: (index: number) => Uint8Array) =>
  Buffer.concat(Array.from({ length: count }, (_, index) => make(index)));
const begin = Buffer.concat([PREFACE, frame(SETTINGS, 0)]);
const open = (stream: number, path = INFER, more = {}, flags = 4) => frame(HEADERS, stream, call(path, more), flags);

/** What a connection for gRPC may bring. */
const GRPC: Readonly<Record<string, () => Uint8Array>> = {
  nothing: () => Buffer.alloc(0),
  noise: () => Buffer.alloc(100_000, 0xa5),
  'an HTTP/1 request': () => Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
  'half a preface': () => PREFACE.subarray(0, 12),
  'a frame cut short': () => Buffer.concat([begin, open(1).subarray(0, 20)]),
  'a frame larger than allowed': () => Buffer.concat([begin, frame(DATA, 1, Buffer.alloc(2 ** 20))]),
  'data of no stream': () => Buffer.concat([begin, frame(DATA, 7, Buffer.alloc(10))]),
  'frames of every type on every stream': () =>
    Buffer.concat([
      begin,
      ...[DATA, HEADERS, PRIORITY, RESET, PUSH, PING, GOAWAY, WINDOW, CONTINUATION, 10, 255].flatMap((type) =>
        [0, 1, 2, 2 ** 31 - 1].map((stream) => frame(type, stream, Buffer.alloc(8))),
      ),
    ]),
  'a header block that is noise': () => Buffer.concat([begin, frame(HEADERS, 1, Buffer.alloc(500, 0xff), 4)]),
  'a header of a megabyte': () =>
    Buffer.concat([
      begin,
      frame(HEADERS, 1, call(INFER), 0),
      repeated(64, () => frame(CONTINUATION, 1, headerBlock({ 'x-large': 'x'.repeat(16_000) }))),
    ]),
  'headers without an end': () =>
    Buffer.concat([begin, frame(HEADERS, 1, call(INFER), 0), repeated(20_000, () => frame(CONTINUATION, 1))]),
  'a path that is no call': () => Buffer.concat([begin, open(1, '/'), open(3, 'x'), open(5, `/${'x'.repeat(9000)}`)]),
  'no pseudo headers': () => Buffer.concat([begin, frame(HEADERS, 1, headerBlock({ a: 'b' }), 5)]),
  'another content type': () => Buffer.concat([begin, open(1, INFER, { 'content-type': 'text/html' }, 5)]),
  'a deadline that is none': () =>
    Buffer.concat([
      begin,
      ...['-1S', 'x', '99999999999999999999S', '0n', '1H1'].map((text, index) =>
        open(2 * index + 1, INFER, { 'grpc-timeout': text }, 5),
      ),
    ]),
  'encodings that are none': () =>
    Buffer.concat([
      begin,
      ...['x', 'gzip', 'deflate', 'identity'].flatMap((encoding, index) => [
        open(2 * index + 1, INFER, { 'grpc-encoding': encoding }),
        frame(DATA, 2 * index + 1, message(Buffer.alloc(50, 7), { compressed: 1 }), 1),
      ]),
    ]),
  'a message of a length that is a lie': () =>
    Buffer.concat([begin, open(1), frame(DATA, 1, message(request, { length: 2 ** 32 - 1 }), 1)]),
  'a message that is longer than it says': () =>
    Buffer.concat([begin, open(1), frame(DATA, 1, message(request, { length: 3 }), 1)]),
  'two messages for a unary call': () =>
    Buffer.concat([begin, open(1), frame(DATA, 1, Buffer.concat([message(request), message(request)]), 1)]),
  'a message that is noise': () =>
    Buffer.concat([begin, open(1), frame(DATA, 1, message(Buffer.alloc(1000, 0xff)), 1)]),
  'a marker that is none': () =>
    Buffer.concat([begin, open(1), frame(DATA, 1, message(request, { compressed: 77 }), 1)]),
  'a stream of noise': () =>
    Buffer.concat([begin, open(1, STREAM), repeated(50, () => frame(DATA, 1, message(Buffer.alloc(100, 0xff))))]),
  'a reset of each call at once': () =>
    Buffer.concat([
      begin,
      repeated(20_000, (index) =>
        Buffer.concat([open(2 * index + 1, STREAM), frame(RESET, 2 * index + 1, Buffer.of(0, 0, 0, 8))]),
      ),
    ]),
  'a reset of each request that runs': () =>
    Buffer.concat([
      begin,
      repeated(2000, (index) =>
        Buffer.concat([
          open(2 * index + 1),
          frame(DATA, 2 * index + 1, message(request), 1),
          frame(RESET, 2 * index + 1, Buffer.of(0, 0, 0, 8)),
        ]),
      ),
    ]),
  'a flood of settings': () => Buffer.concat([begin, repeated(100_000, () => frame(SETTINGS, 0))]),
  'a flood of pings': () => Buffer.concat([begin, repeated(100_000, () => frame(PING, 0, Buffer.alloc(8)))]),
  'a flood of empty data': () => Buffer.concat([begin, open(1), repeated(100_000, () => frame(DATA, 1))]),
  'a flood of priorities': () =>
    Buffer.concat([begin, repeated(50_000, (index) => frame(PRIORITY, 2 * index + 1, Buffer.alloc(5, 1)))]),
  'windows that overflow': () =>
    Buffer.concat([begin, open(1), repeated(10, () => frame(WINDOW, 1, Buffer.of(127, 255, 255, 255)))]),
  'windows of nothing': () =>
    Buffer.concat([
      begin,
      frame(SETTINGS, 0, Buffer.of(0, 4, 0, 0, 0, 0)),
      open(1),
      frame(DATA, 1, message(request), 1),
    ]),
  'more streams than it may': () => Buffer.concat([begin, repeated(5000, (index) => open(2 * index + 1, STREAM))]),
  'a GOAWAY and calls after it': () => Buffer.concat([begin, frame(GOAWAY, 0, Buffer.alloc(8)), open(1, STREAM)]),
};

const http = (...lines: readonly string[]) => `${lines.join('\r\n')}\r\n\r\n`;
const infer = 'POST /v2/models/same/infer HTTP/1.1';
const body = JSON.stringify({ inputs: [{ name: 'X', datatype: 'INT32', shape: [1], data: [1] }] });

/** What a connection for HTTP may bring. */
const HTTP: Readonly<Record<string, () => string | Uint8Array>> = {
  nothing: () => '',
  noise: () => Buffer.alloc(100_000, 0xa5),
  'the preface of HTTP/2': () => begin,
  'half a request': () => 'POST /v2/models/same/infer HT',
  'a header line that never ends': () => `GET /v2 HTTP/1.1\r\nx: ${'y'.repeat(2 ** 20)}`,
  'a thousand headers': () => http('GET /v2 HTTP/1.1', ...Array.from({ length: 3000 }, (_, at) => `x${at}: y`)),
  'a path of a megabyte': () => http(`GET /${'x'.repeat(2 ** 20)} HTTP/1.1`),
  'HTTP/1.0': () => http('GET /v2/health/live HTTP/1.0'),
  'HTTP/0.9': () => 'GET /v2\r\n',
  'another version': () => http('GET /v2 HTTP/9.9', 'Host: x'),
  'a method that is none': () => http('FROB /v2 HTTP/1.1', 'Host: x'),
  CONNECT: () => http('CONNECT a:1 HTTP/1.1', 'Host: x'),
  'an upgrade': () =>
    http('GET /v2 HTTP/1.1', 'Host: x', 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AA'),
  'an expectation': () => http(infer, 'Expect: 100-continue', `Content-Length: ${body.length}`) + body,
  'an expectation that is none': () => http(infer, 'Expect: tea', `Content-Length: ${body.length}`) + body,
  'a length that is a lie': () => http(infer, 'Content-Length: 999999999999') + body,
  'a length of a gibibyte, a hundred times': () => http(infer, `Content-Length: ${2 ** 30}`) + body,
  'a length below zero': () => http(infer, 'Content-Length: -1') + body,
  'two lengths': () => http(infer, 'Content-Length: 5', 'Content-Length: 7') + body,
  'a length and chunks': () => http(infer, 'Content-Length: 5', 'Transfer-Encoding: chunked') + body,
  'chunks that lie': () => `${http(infer, 'Transfer-Encoding: chunked')}5\r\nab\r\nzz\r\n`,
  'a chunk of the largest size': () => `${http(infer, 'Transfer-Encoding: chunked')}ffffffffffffffff\r\nab`,
  'chunks without an end': () => `${http(infer, 'Transfer-Encoding: chunked')}${'1\r\na\r\n'.repeat(50_000)}`,
  'a thousand requests at once': () => (http(infer, `Content-Length: ${body.length}`) + body).repeat(1000),
  'gzip that is noise': () => http(infer, 'Content-Encoding: gzip', 'Content-Length: 50') + 'x'.repeat(50),
  'gzip cut short': () =>
    Buffer.concat([
      Buffer.from(http(infer, 'Content-Encoding: gzip', 'Content-Length: 20')),
      gzipSync(body).subarray(0, 20),
    ]),
  'deflate with another beginning': () => {
    const bytes = deflateSync(body);
    bytes[0] = 0;
    return Buffer.concat([
      Buffer.from(http(infer, 'Content-Encoding: deflate', `Content-Length: ${bytes.length}`)),
      bytes,
    ]);
  },
  'a header length that is a lie': () =>
    ['-1', '1e3', '99999999999999999999', '0x10', '', 'NaN', '5.5']
      .map(
        (length) => http(infer, `Inference-Header-Content-Length: ${length}`, `Content-Length: ${body.length}`) + body,
      )
      .join(''),
  'sizes that wrap': () =>
    [[2 ** 32, 2 ** 32], [2 ** 62, 4], [-1], [1e300], [0.5], ['1'], [null], [[1]]]
      .flatMap((shape) => [
        { inputs: [{ name: 'X', datatype: 'INT32', shape, data: [1] }] },
        { inputs: [{ name: 'X', datatype: 'INT32', shape, data: [] }] },
        { inputs: [{ name: 'X', datatype: 'INT32', shape, parameters: { binary_data_size: 2 ** 53 } }] },
        { inputs: [{ name: 'X', datatype: 'INT32', shape, parameters: { shared_memory_region: 'x' } }] },
      ])
      .map((value) => JSON.stringify(value))
      .map((json) => http(infer, `Content-Length: ${json.length}`) + json)
      .join(''),
  'JSON of a hundred thousand levels': () => {
    const json = '['.repeat(100_000);
    return http(infer, `Content-Length: ${json.length}`) + json;
  },
  'a number of a million digits': () => {
    const json = `{"inputs":[{"name":"X","datatype":"INT32","shape":[1],"data":[${'9'.repeat(1_000_000)}]}]}`;
    return http(infer, `Content-Length: ${json.length}`) + json;
  },
  'names of an object’s own': () =>
    ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
      .flatMap((name) => [
        `{"inputs":[{"name":"${name}","datatype":"INT32","shape":[1],"data":[1]}]}`,
        `{"${name}":{"${name}":1},"inputs":[{"name":"X","datatype":"${name}","shape":[1],"data":[1]}]}`,
        `{"parameters":{"${name}":"x"},"inputs":[{"name":"X","datatype":"INT32","shape":[1],"data":[1]}],"outputs":[{"name":"${name}"}]}`,
      ])
      .flatMap((json) => [
        http(infer, `Content-Length: ${json.length}`) + json,
        http(`POST /v2/models/same/generate HTTP/1.1`, `Content-Length: ${json.length}`) + json,
      ])
      .join(''),
};

async function connected(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url.replace('grpc:', 'http:'));
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  socket.resume();
  await once(socket, 'connect');
  return socket;
}

/** A server that is well answers on connections of its own, lets all others go, and stops. */
async function isWell(server: DevServer): Promise<void> {
  for (const url of [server.grpcUrl, server.httpUrl]) {
    const client = clientOf(url);
    expect(await codeOf(client.infer('same', ints(1), { timeoutMs: 20_000 }))).toBe('OK');
    await client.close();
  }
}

const SENT = [
  ...Object.entries(GRPC).map(([name, bytes]) => ['grpcUrl', name, bytes] as const),
  ...Object.entries(HTTP).map(([name, bytes]) => ['httpUrl', name, bytes] as const),
  ...Object.entries(HTTP).map(([name, bytes]) => ['metricsUrl', name, bytes] as const),
];

describe('a connection', () => {
  test.each(SENT)('to the %s that brings %s', async (url, _, bytes) => {
    const { server } = await faultServer({ exitTimeoutMs: 100 });
    const sockets = await Promise.all(Array.from({ length: 4 }, () => connected(server[url])));
    const [stays, ends, goes, dribbles] = sockets as [Socket, Socket, Socket, Socket];
    const sent = Buffer.from(bytes());
    stays.write(sent);
    ends.end(sent);
    goes.write(sent, () => goes.resetAndDestroy());
    for (const byte of sent.subarray(0, 200)) dribbles.write(Buffer.of(byte));
    await isWell(server);
    await server.stop();
    for (const socket of sockets) {
      socket.end();
      if (!socket.destroyed) await once(socket, 'close');
    }
  });
});
