/** What the code of a generated model is made of. */
export interface CodeOptions {
  /** Its inputs, with their outputs, as JSON. */
  readonly spec: string;
  readonly decoupled: boolean;
  readonly sequence: boolean;
}

/*
 * One rule in two languages. An output is its input, or zeros where an optional one is missing. TOLD says what the model
 * saw of the request. The parameters `fail` (error, code, raise), `answers`, `fail_at` and `own_final` say how to answer.
 */

export const PYTHON = ({ spec, decoupled, sequence }: CodeOptions): string => `import json
import struct

import numpy
import triton_python_backend_utils as pb_utils

SPEC = json.loads(r'''${spec}''')
KINDS = {"BOOL": numpy.bool_, "UINT8": numpy.uint8, "UINT16": numpy.uint16, "UINT32": numpy.uint32, "UINT64": numpy.uint64,
         "INT8": numpy.int8, "INT16": numpy.int16, "INT32": numpy.int32, "INT64": numpy.int64,
         "FP16": numpy.float16, "FP32": numpy.float32, "FP64": numpy.float64, "BYTES": numpy.object_}
DECOUPLED = ${decoupled ? 'True' : 'False'}
SEQUENCE = ${sequence ? 'True' : 'False'}


def shown(value):
    if isinstance(value, bool):
        return "b" + str(int(value))
    if isinstance(value, int):
        return "i" + str(value)
    if isinstance(value, float):
        return "f" + struct.pack("<d", value).hex()
    return "s" + str(value)


def read(request, name):
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return None if tensor is None else tensor.as_numpy()


def told(request, parameters, values, answer):
    parts = [str(answer), MODEL, request.request_id(), str(request.timeout()), str(request.flags() & 3)]
    corrid = request.correlation_id()
    parts.append(shown(corrid))
    if SEQUENCE:
        for name in ("START", "END", "READY", "CORRID"):
            control = read(request, name)
            shape = "x".join(str(size) for size in control.shape)
            number = "hash" if name == "CORRID" and isinstance(corrid, str) else str(int(control.flat[0]))
            parts.append(name + " " + shape + " " + number)
    parts.append(",".join(sorted(request.requested_output_names())))
    for name in sorted(parameters):
        parts.append(name + "=" + shown(parameters[name]))
    for tensor in SPEC:
        value = values[tensor["name"]]
        parts.append("-" if value is None else "x".join(str(size) for size in value.shape))
    return "|".join(parts).encode()


def outputs_of(request, parameters, answer):
    values = {tensor["name"]: read(request, tensor["name"]) for tensor in SPEC}
    batch = next((value.shape[0] for value in values.values() if value is not None and value.ndim > 0), 1) if BATCH else None
    lead = [] if batch is None else [batch]
    outputs = []
    for tensor in SPEC:
        value = values[tensor["name"]]
        if value is None:
            shape = lead + [1 if size == -1 else size for size in tensor["dims"]]
            value = numpy.zeros(shape, KINDS[tensor["datatype"]])
            if tensor["datatype"] == "BYTES":
                value = numpy.full(shape, b"", numpy.object_)
        outputs.append(pb_utils.Tensor(tensor["output"], value))
    text = numpy.full(lead + [1], told(request, parameters, values, answer), numpy.object_)
    outputs.append(pb_utils.Tensor("TOLD", text))
    return outputs


def error_of(text, how):
    if how == "code":
        return pb_utils.TritonError(text, pb_utils.TritonError.ALREADY_EXISTS)
    return pb_utils.TritonError(text)


class TritonPythonModel:
    def initialize(self, args):
        global BATCH, MODEL
        MODEL = args["model_name"]
        BATCH = json.loads(args["model_config"])["max_batch_size"] > 0

    def execute(self, requests):
        if DECOUPLED:
            for request in requests:
                self.answer_often(request)
            return None
        responses = []
        for request in requests:
            parameters = json.loads(request.parameters() or "{}")
            how = parameters.get("fail")
            if how == "raise":
                raise ValueError("a wrong value")
            if how is not None:
                responses.append(pb_utils.InferenceResponse(error=error_of("refused, é", how)))
            else:
                responses.append(pb_utils.InferenceResponse(outputs_of(request, parameters, 0)))
        return responses

    def answer_often(self, request):
        parameters = json.loads(request.parameters() or "{}")
        sender = request.get_response_sender()
        final = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
        answers = parameters.get("answers", 1)
        answers = answers if isinstance(answers, int) and not isinstance(answers, bool) and 0 <= answers <= 4 else 1
        own_final = parameters.get("own_final") is True and answers > 0 and parameters.get("fail_at") != answers - 1
        for index in range(answers):
            if index == parameters.get("fail_at"):
                response = pb_utils.InferenceResponse(error=error_of("no answer", parameters.get("fail")))
            else:
                response = pb_utils.InferenceResponse(outputs_of(request, parameters, index))
            sender.send(response, flags=final if own_final and index == answers - 1 else 0)
        if not own_final:
            sender.send(flags=final)
`;

export const JAVASCRIPT = ({ spec, decoupled, sequence }: CodeOptions): string => `
const SPEC = ${spec};
const ARRAYS = { BOOL: Uint8Array, UINT8: Uint8Array, UINT16: Uint16Array, UINT32: Uint32Array, UINT64: BigUint64Array,
  INT8: Int8Array, INT16: Int16Array, INT32: Int32Array, INT64: BigInt64Array, FP16: Uint16Array, FP32: Float32Array,
  FP64: Float64Array };
const SEQUENCE = ${sequence};

function shown(value) {
  if (typeof value === 'boolean') return 'b' + Number(value);
  if (typeof value === 'bigint') return 'i' + value;
  if (typeof value === 'number') return 'f' + Buffer.from(Float64Array.of(value).buffer).toString('hex');
  return 's' + value;
}

function told({ id, model, inputs, requestedOutputs, parameters, sequence, timeoutUs }, answer) {
  const parts = [answer, model, id, timeoutUs, Number(sequence.start) + 2 * Number(sequence.end), shown(sequence.id)];
  if (SEQUENCE) {
    for (const name of ['START', 'END', 'READY', 'CORRID']) {
      const { shape, data } = inputs[name];
      const number = name === 'CORRID' && typeof sequence.id === 'string' ? 'hash' : data[0];
      parts.push(name + ' ' + shape.join('x') + ' ' + number);
    }
  }
  parts.push([...requestedOutputs].sort().join(','));
  for (const name of Object.keys(parameters).sort()) parts.push(name + '=' + shown(parameters[name]));
  for (const { name } of SPEC) parts.push(inputs[name] === undefined ? '-' : inputs[name].shape.join('x'));
  return parts.join('|');
}

function outputsOf(request, batched, answer) {
  const { inputs } = request;
  const first = SPEC.map(({ name }) => inputs[name]).find((input) => input !== undefined);
  const lead = batched ? [first?.shape[0] ?? 1] : [];
  const outputs = {};
  for (const { name, output, datatype, dims } of SPEC) {
    const input = inputs[name];
    const shape = [...lead, ...dims.map((size) => (size === -1 ? 1 : size))];
    const count = shape.reduce((product, size) => product * size, 1);
    const zeros = datatype === 'BYTES' ? Array(count).fill('') : new (ARRAYS[datatype])(count);
    outputs[output] = input ?? { shape, data: zeros };
  }
  const text = told(request, answer);
  outputs.TOLD = { shape: [...lead, 1], data: Array(lead[0] ?? 1).fill(text) };
  return outputs;
}

const errorOf = (text, how) => Object.assign(new Error(text), { code: how === 'code' ? 'ALREADY_EXISTS' : 'INTERNAL' });

export function create({ max_batch_size }) {
  const batched = max_batch_size > 0;
  return {
    ${decoupled ? 'executeDecoupled: answerOften' : 'execute: answer'},
  };

  function answer(request) {
    const how = request.parameters.fail;
    if (how === 'raise') throw Object.assign(new Error('a wrong value'), { name: 'ValueError' });
    if (how !== undefined) throw errorOf('refused, é', how);
    return outputsOf(request, batched, 0);
  }

  function* answerOften(request) {
    const { parameters } = request;
    const given = parameters.answers;
    const answers = typeof given === 'bigint' && given >= 0n && given <= 4n ? Number(given) : 1;
    for (let index = 0; index < answers; index += 1) {
      const final = parameters.own_final === true && index === answers - 1;
      if (isIndex(parameters.fail_at, index)) yield { error: errorOf('no answer', parameters.fail) };
      else yield { outputs: outputsOf(request, batched, index), final };
    }
  }
}

/** As Python's ==, to which true is 1. */
const isIndex = (value, index) => (typeof value === 'string' ? false : value !== undefined && Number(value) === index);
`;
