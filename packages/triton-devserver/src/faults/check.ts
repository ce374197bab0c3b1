import {
  AT_LEAST_ONE,
  COUNT,
  checkFields,
  type Fields,
  MILLISECONDS,
  oneOf,
  optional,
  required,
  TEXT,
  WHOLE,
} from '../fields.js';
import { STATUS_CODES } from '../status.js';
import type { Fault, FaultKind } from './fault.js';

/** What each kind of fault has beside its scope. */
const KINDS: Readonly<Record<FaultKind['kind'], Fields>> = {
  delay: { ms: required(MILLISECONDS) },
  refuse: { code: required(oneOf(STATUS_CODES)), message: required(TEXT) },
  silence: {},
  'late-write': { ms: required(MILLISECONDS) },
  'wrong-size': { bytes: required(WHOLE) },
  unparsable: {},
  'no-final': {},
  'lose-answer': { index: required(COUNT) },
  reorder: {},
  crash: {},
};

/** @throws TypeError, one sentence */
export function checkFault(fault: unknown): asserts fault is Fault {
  const kind = (fault as { readonly kind?: unknown } | null | undefined)?.kind;
  const known = Object.keys(KINDS);
  if (typeof kind !== 'string' || !known.includes(kind)) {
    throw new TypeError(`A fault's 'kind' has to be one of ${known.join(', ')}`);
  }
  checkFields(`The fault '${kind}'`, fault, {
    kind: required(TEXT),
    ...KINDS[kind as FaultKind['kind']],
    model: optional(TEXT),
    times: optional(AT_LEAST_ONE),
  });
}
