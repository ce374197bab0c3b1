import { typeError } from './check.js';
import { checkHeaders } from './headers.js';
import type { SubmitOptions } from './transport.js';
import type { CallHeaders, CallOptions } from './types/request.js';

/** How one call wants to be sent. */
export interface Sending {
  readonly headers?: CallHeaders | undefined;
  readonly compression?: CallOptions['compression'];
}

/** @throws TypeError for headers that cannot be sent and for an unknown compression */
export function checkSending(options: SubmitOptions | undefined): Sending {
  if (options?.headers !== undefined) checkHeaders(options.headers, 'headers');
  const { headers, traceHeaders, compression } = options ?? {};
  if (compression !== undefined && !['none', 'gzip', 'deflate'].includes(compression)) {
    throw typeError("'none', 'gzip' or 'deflate'", 'compression', compression);
  }
  return { headers: traceHeaders === undefined ? headers : { ...headers, ...traceHeaders }, compression };
}
