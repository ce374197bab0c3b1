import { rangeError } from '../check.js';
import type { ModelVersion } from '../control.js';
import { TritonError } from '../errors.js';

/**
 * What may stand in a path as it is. The server takes paths raw: it decodes nothing, so a name that would have to be
 * percent-encoded cannot be addressed.
 */
const SEGMENT = /^[A-Za-z0-9\-._~!$&'()*+,;=:@]+$/;
/** A path's own words for here and above, which proxies act on. */
const DOTS = /^\.{1,2}$/;

/** @throws RangeError for a name that HTTP cannot address */
export function segment(name: string, what: string): string {
  if (SEGMENT.test(name) && !DOTS.test(name)) return name;
  throw rangeError('a name that needs no percent-encoding (HTTP cannot address others; gRPC can)', what, name);
}

/**
 * What is wrong with a version: HTTP has routes for numbers alone and answers others as if the path were wrong, so here is
 * what the server says over gRPC.
 */
export function versionError({ model, version }: ModelVersion, method: string): TritonError | undefined {
  if (version === '' || /^\d+$/.test(version)) return undefined;
  const details = `invalid model version specified '${version}', version should be an integral value > 0`;
  return new TritonError(`${method} of '${model}': ${details}`, {
    code: 'TRITON_INVALID_ARGUMENT',
    method,
    details,
    model,
  });
}

/**
 * `/v2/models/NAME[/versions/VERSION]`, or `/v2/models` for all.
 *
 * @throws RangeError for a name that HTTP cannot address
 */
export function modelPath({ model, version }: ModelVersion): string {
  return `/v2/models${model === '' ? '' : `/${segment(model, 'model')}`}${version === '' ? '' : `/versions/${version}`}`;
}
