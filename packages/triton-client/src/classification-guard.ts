import type { ControlCall, ModelVersion } from './control.js';
import { checkHeaders } from './headers.js';
import { checkCallOptions } from './pending-request.js';
import type { CheckedRequest } from './request.js';
import type { CallOptions } from './types/request.js';
import type { InferCall, PreparedRequest, Settlement } from './types/result.js';
import type { ModelMetadata } from './types/server.js';
import { unsafeRequest } from './unsafe.js';

/** What the guard asks of its client. */
interface GuardHost {
  metadata(of: ModelVersion, call: ControlCall): Promise<ModelMetadata>;
  epoch(): number;
  readonly controlTimeoutMs: number;
}

interface Known {
  readonly epoch: number;
  /** Names of the outputs that are BYTES. */
  readonly bytesOutputs: ReadonlySet<string>;
}

/**
 * Keeps servers alive: asked for the classes of a BYTES output, 2.48 and 2.51 end with a division by zero. Only the
 * model's metadata tell which outputs are; they are read once for each model, version and connection.
 */
export class ClassificationGuard {
  readonly #host: GuardHost;
  readonly #known = new Map<string, Known>();

  constructor(host: GuardHost) {
    this.#host = host;
  }

  /** Models may have changed: what was read of them is read again. */
  forget(): void {
    this.#known.clear();
  }

  /**
   * @throws TypeError `TRITON_UNSAFE_REQUEST` for a classification of a BYTES output; TritonError when the metadata
   *   cannot be read
   */
  async check(request: CheckedRequest, options: CallOptions | undefined): Promise<void> {
    const { model, version, classified } = request;
    const bytesOutputs = await this.#bytesOutputs({ model, version }, this.#call(options));
    const unsafe = classified.find((name) => bytesOutputs.has(name));
    if (unsafe !== undefined) throw classificationOfBytes(model, unsafe);
  }

  /** `send`, after the check. Refused and given up before that, a request settles as `'not-sent'`. */
  #guard(request: CheckedRequest, options: CallOptions | undefined, send: (rest: CallOptions) => InferCall): InferCall {
    const started = performance.now();
    let settle!: (settlement: Settlement | Promise<Settlement>) => void;
    const settled = new Promise<Settlement>((resolve) => {
      settle = resolve;
    });
    const sent = async () => {
      try {
        await this.check(request, options);
      } catch (error) {
        settle('not-sent');
        throw error;
      }
      const call = send(remaining(options, performance.now() - started));
      settle(call.settled);
      return call;
    };
    return Object.assign(sent(), { settled });
  }

  /** `prepared`, guarded: the first request of it costs a look at the model's metadata. */
  prepared(request: CheckedRequest, prepared: PreparedRequest): PreparedRequest {
    return {
      byteLength: prepared.byteLength,
      infer: (options) => {
        if (options !== undefined) {
          checkCallOptions(options);
          checkHeaders(options.headers ?? {}, 'headers');
        }
        return this.#guard(request, options, (rest) => prepared.infer(rest));
      },
    };
  }

  async #bytesOutputs(of: ModelVersion, call: ControlCall): Promise<ReadonlySet<string>> {
    const key = JSON.stringify([of.model, of.version]);
    const epoch = this.#host.epoch();
    const known = this.#known.get(key);
    if (known?.epoch === epoch) return known.bytesOutputs;
    const { outputs } = await this.#host.metadata(of, call);
    const bytesOutputs = new Set(outputs.filter(({ datatype }) => datatype === 'BYTES').map(({ name }) => name));
    // Else the next request asks again: which server answered is not certain.
    if (this.#host.epoch() === epoch) this.#known.set(key, { epoch, bytesOutputs });
    return bytesOutputs;
  }

  #call(options: CallOptions | undefined): ControlCall {
    const { controlTimeoutMs } = this.#host;
    const timeoutMs = Math.min(options?.timeoutMs ?? controlTimeoutMs, controlTimeoutMs);
    return { timeoutMs, signal: options?.signal, headers: options?.headers };
  }
}

/** The options for what is left of the caller's time. */
function remaining(options: CallOptions | undefined, elapsedMs: number): CallOptions {
  if (options?.timeoutMs === undefined) return options ?? {};
  return { ...options, timeoutMs: Math.max(1, Math.ceil(options.timeoutMs - elapsedMs)) };
}

/** The refusal of a classification that would end the server. */
export function classificationOfBytes(model: string, output: string): TypeError {
  return unsafeRequest(
    `Output '${output}' of model '${model}' is BYTES, and Triton ends when it is asked for the classes of one`,
  );
}
