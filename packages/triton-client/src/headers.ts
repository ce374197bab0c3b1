import { typeError } from './check.js';
import type { CallHeaders } from './types/request.js';
import { unsafeRequest } from './unsafe.js';

/** What gRPC metadata allows of a name; HTTP allows more. */
const NAME = /^[0-9a-z_.-]+$/i;
/** Printable ASCII, as gRPC metadata has it; also keeps line ends out of HTTP headers. */
const VALUE = /^[\x20-\x7e]*$/;
/** They belong to the protocols. `-bin` values would be bytes, which the server has no use for. */
const NOT_OURS =
  /^(?:grpc-.*|.*-bin|content-length|content-type|content-encoding|transfer-encoding|connection|host|te|inference-header-content-length)$/i;

/** It ends a server whose stream has a second request when the first fails (seen on 2.51: signal 11). */
const KILLS_SERVERS = /^triton_grpc_error$/i;

/**
 * Headers that a user may send.
 *
 * @throws TypeError for a name or a value that no header can have, or that is the protocol's own; with the code
 *   `TRITON_UNSAFE_REQUEST` for `triton_grpc_error`
 */
export function checkHeaders(headers: CallHeaders, option: string): CallHeaders {
  if (typeof headers !== 'object' || headers === null) throw typeError('object', option, headers);
  for (const [name, value] of Object.entries(headers)) {
    if (!NAME.test(name)) throw typeError('letters, digits, "-", "_" and "."', `a name of ${option}`, name);
    if (KILLS_SERVERS.test(name)) {
      throw unsafeRequest(`${option}.${name} can end the server: errors on its streams have codes without it`);
    }
    if (NOT_OURS.test(name)) throw typeError("a name that is not the protocol's", `a name of ${option}`, name);
    if (typeof value !== 'string' || !VALUE.test(value)) throw typeError('printable ASCII', `${option}.${name}`, value);
  }
  return headers;
}
