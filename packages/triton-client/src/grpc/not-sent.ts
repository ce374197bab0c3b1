import { status as Status, type StatusObject } from '@grpc/grpc-js';

/**
 * What grpc-js says of a call that no server has read: it found no connection, the stream could not be begun, or the
 * server refused it unread (HTTP/2's REFUSED_STREAM, also of a stream past the last one that a GOAWAY names).
 */
const NEVER_LEFT =
  /^(?:No connection established|Name resolution failed|Failed to start HTTP\/2 stream|Stream refused by server$)/;
const RESTRICTED = /^This protocol is restricted, expecting header /;

/**
 * True where grpc-js proves that the server did not read the call. A server's own status comes with metadata, at least
 * a content type; those that grpc-js makes up have none.
 */
export function neverLeft({ code, details, metadata }: StatusObject): boolean {
  const madeUp = code === Status.UNAVAILABLE || code === Status.INTERNAL;
  return madeUp && NEVER_LEFT.test(details) && Object.keys(metadata.getMap()).length === 0;
}

/** The server, or what stands before it, lets no stream through. For a stream that had no answer at all. */
export function forbidsStreams({ code, details }: StatusObject): boolean {
  return (
    code === Status.UNIMPLEMENTED ||
    code === Status.PERMISSION_DENIED ||
    (code === Status.UNAVAILABLE && RESTRICTED.test(details))
  );
}
