import { firstOfEach } from './infer-options.js';
import { type Json, JsonObject } from './json-value.js';

/** The members of a settings' request; what is no object changes nothing (seen on 2.51). */
export function changesOf(json: Json): Record<string, unknown> {
  return json instanceof JsonObject ? Object.fromEntries(firstOfEach(json)) : {};
}
