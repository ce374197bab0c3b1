import { promisify } from 'node:util';
import { constants, createInflateRaw, deflate, gzip } from 'node:zlib';
import { invalid, ServerError, unsupported } from '../status.js';

const gzipped = promisify(gzip);
const deflated = promisify(deflate);

/** A refused encoding: the answer then names those that are taken. */
export class UnsupportedEncoding extends ServerError {
  constructor() {
    super('UNSUPPORTED', unsupported('Unsupported compression type').message);
  }
}

/** A real server has no limit, and ends where its memory does. */
const LARGEST = 2 ** 30;

/**
 * A request's body as it was before it was compressed, of `largest` bytes at most. Like the real server's it reads either form under either name, stops
 * without an error where the bytes make no sense, and takes names in lower case only.
 *
 * @throws ServerError
 */
export async function decompressed(body: Buffer, encoding: string | undefined, largest = LARGEST): Promise<Buffer> {
  if (encoding === undefined || encoding === 'identity') return body;
  if (encoding !== 'gzip' && encoding !== 'deflate') throw new UnsupportedEncoding();
  if (body.byteLength === 0) throw invalid('nothing to be decompressed');
  const start = deflateStart(body);
  if (start === undefined) return Buffer.alloc(0);
  const chunks: Buffer[] = [];
  let byteLength = 0;
  const inflate = createInflateRaw({ finishFlush: constants.Z_SYNC_FLUSH });
  await new Promise<void>((resolve) => {
    inflate.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      byteLength += chunk.byteLength;
      if (byteLength > largest) inflate.destroy();
    });
    inflate.on('error', () => resolve());
    inflate.on('close', resolve);
    inflate.on('end', resolve);
    inflate.end(body.subarray(start));
  });
  if (byteLength > largest) throw invalid(`The body has more than ${largest} bytes when it is decompressed`);
  return Buffer.concat(chunks, byteLength);
}

const [HEADER_CRC, EXTRA, NAME, COMMENT] = [0x02, 0x04, 0x08, 0x10];

/**
 * Where the compressed bytes begin, after the header of either format. node's own reader of both loses what it has read when
 * something follows that is no second part, which the server does not mind.
 */
function deflateStart(body: Buffer): number | undefined {
  const [first = 0, second = 0, method, flags = 0] = body;
  if (first !== 0x1f || second !== 0x8b)
    return (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0 ? 2 : undefined;
  if (method !== 8) return undefined;
  let at = 10;
  if ((flags & EXTRA) !== 0) at += 2 + (body[at] ?? 0) + 256 * (body[at + 1] ?? 0);
  for (const text of [NAME, COMMENT]) {
    if ((flags & text) !== 0) at = body.indexOf(0, at) + 1;
  }
  return (flags & HEADER_CRC) === 0 ? at : at + 2;
}

export type Encoding = 'gzip' | 'deflate';

/**
 * The encoding of an answer: the first of those with the highest weight, if it is one of the two. Blanks within an entry and
 * weights that are no number make an entry unknown, as seen on 2.51.
 */
export function acceptedEncoding(header: string | undefined): Encoding | undefined {
  let best: { name: string; weight: number } | undefined;
  for (const entry of header?.split(',') ?? []) {
    const match = /^\s*([^;\s]+)(?:;q=(\d+(?:\.\d*)?|\.\d+))?\s*$/.exec(entry);
    const name = match?.[1];
    if (name !== 'gzip' && name !== 'deflate' && name !== 'identity') continue;
    const weight = match?.[2] === undefined ? 1 : Number(match[2]);
    if (weight > (best?.weight ?? 0)) best = { name, weight };
  }
  return best?.name === 'gzip' || best?.name === 'deflate' ? best.name : undefined;
}

export function compressed(bytes: readonly Uint8Array[], encoding: Encoding): Promise<Buffer> {
  const whole = Buffer.concat(bytes);
  return encoding === 'gzip' ? gzipped(whole) : deflated(whole);
}
