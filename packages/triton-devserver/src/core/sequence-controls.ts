import { createHash } from 'node:crypto';
import { serializeElements } from '../bytes-elements.js';
import { type Datatype, elementByteLength } from '../datatype.js';
import type { ModelSequenceBatching } from '../grpc/gen/model_config.js';
import type { CheckedInput } from './checks.js';

interface SequenceState {
  readonly id: bigint | string;
  readonly start: boolean;
  readonly end: boolean;
}

/** The control tensors that a model's configuration asks for: START, END, READY and the correlation id. */
export function controlsOf(
  batching: ModelSequenceBatching,
  state: SequenceState,
  shape: readonly number[],
  datatypeOf: (type: string) => Datatype,
): CheckedInput[] {
  return batching.control_input.flatMap(({ name, control }) =>
    control.map((one): CheckedInput => {
      if (one.kind === 'CONTROL_SEQUENCE_CORRID') {
        const datatype = datatypeOf(one.data_type);
        return { name, datatype, shape, source: { bytes: idBytes(state.id, datatype) } };
      }
      const on =
        one.kind === 'CONTROL_SEQUENCE_START' ? state.start : one.kind === 'CONTROL_SEQUENCE_END' ? state.end : true;
      const index = on ? 1 : 0;
      if (one.fp32_false_true.length === 2) {
        const bytes = new Uint8Array(Float32Array.of(one.fp32_false_true[index] ?? 0).buffer);
        return { name, datatype: 'FP32', shape, source: { bytes } };
      }
      if (one.bool_false_true.length === 2) {
        return { name, datatype: 'BOOL', shape, source: { bytes: Uint8Array.of(Number(one.bool_false_true[index])) } };
      }
      const bytes = new Uint8Array(Int32Array.of(one.int32_false_true[index] ?? 0).buffer);
      return { name, datatype: 'INT32', shape, source: { bytes } };
    }),
  );
}

/** A text as id reaches a model that wants a number as a hash; which one, no model can rely on. */
function idBytes(id: bigint | string, datatype: Datatype): Uint8Array {
  if (datatype === 'BYTES') return serializeElements([String(id)]);
  const number = typeof id === 'bigint' ? id : createHash('sha256').update(id).digest().readBigUInt64LE();
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt.asUintN(64, number), true);
  return bytes.subarray(0, elementByteLength(datatype));
}
