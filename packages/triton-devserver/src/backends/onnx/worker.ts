import { BUSY, STOP } from './exit-guard.js';
import type { Answer, Described, Message, Sent } from './messages.js';
import type { SessionOptions } from './session-options.js';

type Ort = typeof import('onnxruntime-node');
type Session = import('onnxruntime-node').InferenceSession;

/** What the thread is started with. */
export interface WorkerData {
  /** The file of onnxruntime-node. */
  readonly runtime: string;
  /** The model's file. */
  readonly path: string;
  readonly options: SessionOptions;
  /** See exit-guard.ts. */
  readonly control: Int32Array;
}

/** Only errors that end the process: what goes wrong otherwise, the answers tell. */
const FATAL = 4;

/**
 * The thread of an ONNX model, run from its text: it may use nothing of this module but types; values it gets as
 * arguments.
 */
export function serveOnnx(load: NodeJS.Require, quiet: number, stop: number, busy: number): void {
  const { parentPort, workerData } = load('node:worker_threads') as typeof import('node:worker_threads');
  const { runtime, path, options, control } = workerData as WorkerData;
  // Where there is one, onnxruntime-node takes halves as such an array, of which its addon then finds no bytes (1.30, Node 24).
  Reflect.deleteProperty(globalThis, 'Float16Array');
  const { env, InferenceSession, Tensor } = load(runtime) as Ort;
  const arrays: Record<string, new (buffer: ArrayBuffer) => ArrayBufferView> = {
    bool: Uint8Array,
    uint8: Uint8Array,
    uint16: Uint16Array,
    uint32: Uint32Array,
    uint64: BigUint64Array,
    int8: Int8Array,
    int16: Int16Array,
    int32: Int32Array,
    int64: BigInt64Array,
    float16: Uint16Array,
    float32: Float32Array,
    float64: Float64Array,
  };
  const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
  const say = (answer: Answer, transfer: readonly ArrayBuffer[] = []) => parentPort?.postMessage(answer, transfer);

  /** Does what is in ONNX Runtime's hands; nothing, for ever, when the process is about to end. */
  const native = async <T>(work: () => Promise<T>): Promise<T> => {
    Atomics.store(control, busy, 1);
    try {
      if (Atomics.load(control, stop) === 0) return await work();
    } finally {
      Atomics.store(control, busy, 0);
      Atomics.notify(control, busy);
    }
    return new Promise<never>(() => undefined);
  };

  const run = async (session: Session, { id, inputs, outputs }: Exclude<Message, 'close'>) => {
    const feeds: Record<string, import('onnxruntime-node').Tensor> = {};
    for (const { name, type, dims, data } of inputs) {
      const array = data instanceof ArrayBuffer ? new (arrays[type] ?? Uint8Array)(data) : data;
      feeds[name] = new Tensor(type as 'float32', array as Float32Array, dims);
    }
    const results = await native(() => session.run(feeds, outputs, { logSeverityLevel: quiet as 4 }));
    const given = outputs.map((name): Sent => {
      const { type, data, dims } = results[name] as import('onnxruntime-node').Tensor;
      if (Array.isArray(data)) return { name, type, dims, data };
      const { buffer, byteOffset, byteLength } = data as Float32Array<ArrayBuffer>;
      const whole = byteOffset === 0 && byteLength === buffer.byteLength;
      return { name, type, dims, data: whole ? buffer : buffer.slice(byteOffset, byteOffset + byteLength) };
    });
    const buffers = (tensors: readonly Sent[]) => [
      ...new Set(tensors.flatMap(({ data }) => (data instanceof ArrayBuffer ? [data] : []))),
    ];
    const taken = buffers(given);
    const spare = buffers(inputs).filter((buffer) => !taken.includes(buffer));
    say({ id, outputs: given, spare }, [...taken, ...spare]);
  };

  env.logLevel = 'fatal';
  native(() => InferenceSession.create(path, { ...options, logSeverityLevel: quiet as 4 })).then(
    (session) => {
      // One after the other, as of one instance of a model.
      let turn: Promise<unknown> = Promise.resolve();
      parentPort?.on('message', (message: Message) => {
        turn = turn.then(async () => {
          if (message === 'close') {
            await native(() => session.release());
            parentPort.close();
            return;
          }
          await run(session, message).catch((error: unknown) => say({ id: message.id, error: textOf(error) }));
        });
      });
      say({
        described: {
          inputs: session.inputMetadata as unknown as Described['inputs'],
          outputs: session.outputMetadata as unknown as Described['outputs'],
        },
      });
    },
    (error: unknown) => say({ failed: textOf(error) }),
  );
}

/** The program of the thread. From the function's own text, which is the same in the sources and in what is published. */
export const PROGRAM = `(${serveOnnx.toString()})(require, ${FATAL}, ${STOP}, ${BUSY})`;
