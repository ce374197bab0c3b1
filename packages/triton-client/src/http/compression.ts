import { promisify } from 'node:util';
import { createDeflate, createGzip, gunzip, inflate } from 'node:zlib';
import type { CallOptions } from '../types/request.js';
import type { WireRequest } from './exchange.js';
import { type HttpResponse, headerOf, malformedHttp } from './response.js';

export type Compression = NonNullable<CallOptions['compression']>;

const unzip = { gzip: promisify(gunzip), deflate: promisify(inflate) } as const;

/** The request with a compressed body; its answer may come compressed too. */
export async function compressRequest(
  request: WireRequest,
  algorithm: Exclude<Compression, 'none'>,
): Promise<WireRequest> {
  // The server's "deflate" is zlib's format, and it knows names in lower case only.
  const stream = algorithm === 'gzip' ? createGzip() : createDeflate();
  for (const chunk of request.chunks) stream.write(chunk);
  stream.end();
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  const headers = { ...request.headers, 'content-encoding': algorithm, 'accept-encoding': algorithm };
  return { ...request, headers, chunks, byteLength: chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0) };
}

/** @throws TritonError `TRITON_MALFORMED_RESPONSE` for another encoding, or bytes that are none */
export async function decompressResponse(response: HttpResponse): Promise<HttpResponse> {
  const encoding = headerOf(response.headers, 'content-encoding') ?? 'identity';
  if (encoding === 'identity' || response.body.byteLength === 0) return response;
  if (encoding !== 'gzip' && encoding !== 'deflate') throw malformedHttp(`its content encoding is '${encoding}'`);
  try {
    return { ...response, body: await unzip[encoding](response.body) };
  } catch (cause) {
    throw malformedHttp(`its content is no ${encoding} (${(cause as Error).message})`, cause);
  }
}
