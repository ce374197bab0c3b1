import { once } from 'node:events';
import { connect } from 'node:net';

/** An answer as it was on the wire. */
export interface RawAnswer {
  /** With the reason. */
  readonly status: string;
  /** In their order. */
  readonly headers: readonly string[];
  /** Without the marks of chunks. */
  readonly body: Buffer;
}

export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** Sends one request on a connection of its own, header by header as given, and reads until the server closes it. */
export async function rawHttp(
  url: string,
  { method = 'POST', path, headers = {}, body = '' }: RawRequest,
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const all = { Host: 'test', 'Content-Length': String(bytes.byteLength), ...headers, Connection: 'close' };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect({ host: hostname, port: Number(port) });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.write(`${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n`);
  socket.write(bytes);
  await once(socket, 'close');
  return parse(Buffer.concat(chunks));
}

function parse(answer: Buffer): RawAnswer {
  const end = answer.indexOf('\r\n\r\n');
  if (end < 0) return { status: '', headers: [], body: answer };
  const [status = '', ...headers] = answer.subarray(0, end).toString('latin1').split('\r\n');
  const rest = answer.subarray(end + 4);
  return { status, headers, body: headers.includes('Transfer-Encoding: chunked') ? joined(rest) : rest };
}

function joined(chunked: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = chunked.indexOf('\r\n', at);
    const size = Number.parseInt(chunked.toString('latin1', at, end), 16);
    if (!(size > 0)) return Buffer.concat(parts);
    parts.push(chunked.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}
