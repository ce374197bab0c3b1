import { rangeError, typeError } from './check.js';
import { classificationOfBytes } from './classification-guard.js';
import { elementByteLength } from './datatype.js';
import type { CheckedInput, CheckedOutput, CheckedRequest } from './request.js';
import type { Datatype } from './types/request.js';
import type { ModelConfig, ModelMetadata, TensorMetadata } from './types/server.js';
import { unsafeRequest } from './unsafe.js';

/** Triton finds no classes in these. */
const WITHOUT_CLASSES: ReadonlySet<Datatype> = new Set(['FP16', 'BF16', 'BOOL']);

/** What a server will say to a request, as far as the model's metadata and configuration tell. */
export class ModelRules {
  readonly #model: string;
  readonly #inputs: ReadonlyMap<string, TensorMetadata>;
  readonly #outputs: ReadonlyMap<string, TensorMetadata>;
  /** Without a configuration nobody knows which inputs may be left out. */
  readonly #required: readonly string[];
  readonly #decoupled: boolean;
  readonly #inSequences: boolean;
  /** 0 for a model without a batch dimension, undefined where that is not known. */
  readonly #maxBatchSize: number | undefined;
  /** Inputs whose values are shapes: the server gives them no batch dimension. */
  readonly #shapeInputs: ReadonlySet<string>;
  /** Outputs whose first dimension is not the batch of the inputs. */
  readonly #ownBatch: ReadonlySet<string>;

  constructor(metadata: ModelMetadata, config: ModelConfig | undefined) {
    this.#model = metadata.name;
    this.#inputs = new Map(metadata.inputs.map((tensor) => [tensor.name, tensor]));
    this.#outputs = new Map(metadata.outputs.map((tensor) => [tensor.name, tensor]));
    const names = [...this.#inputs.keys()];
    this.#required = config === undefined ? [] : names.filter((name) => !config.optionalInputs.includes(name));
    this.#decoupled = config?.decoupled ?? false;
    this.#inSequences = config?.raw.sequence_batching !== undefined;
    this.#maxBatchSize = config?.maxBatchSize;
    const shapes = listIn(config, 'input').filter((input) => input.is_shape_tensor === true);
    this.#shapeInputs = new Set(shapes.map((input) => String(input.name)));
    this.#ownBatch = new Set(listIn(config, 'batch_output').flatMap(({ target_name }) => target_name as string[]));
  }

  /**
   * @throws TypeError or RangeError that names the tensor, what was expected and what came; with the code
   *   `TRITON_UNSAFE_REQUEST` where servers would come to harm
   */
  check(request: CheckedRequest): void {
    const present = new Set(request.inputs.map(({ name }) => name));
    // Before what is missing, which is the same input when its name was mistyped.
    for (const name of present) {
      if (!this.#inputs.has(name)) throw rangeError(anyOf(this.#inputs), `an input of model '${this.#model}'`, name);
    }
    for (const name of this.#required) {
      if (!present.has(name)) throw typeError('a tensor', this.#input(name), undefined);
    }
    let batch: { readonly size: number; readonly of: string } | undefined;
    for (const input of request.inputs) {
      this.#checkInput(input, this.#inputs.get(input.name) as TensorMetadata);
      if (!this.#isBatched() || this.#shapeInputs.has(input.name)) continue;
      const size = input.shape[0] as number;
      if (batch !== undefined && size !== batch.size) {
        throw rangeError(`${batch.size}, the batch of '${batch.of}',`, `the batch of ${this.#input(input.name)}`, size);
      }
      batch = { size, of: input.name };
    }
    // The server takes an empty batch for one of 1, whose bytes are missing (2.48, 2.51).
    if (batch !== undefined && (batch.size < 1 || batch.size > (this.#maxBatchSize ?? 0))) {
      throw rangeError(`1 to ${this.#maxBatchSize}`, `the batch of model '${this.#model}'`, batch.size);
    }
    for (const output of request.outputs) this.#checkOutput(output, batch?.size);
    const hasSequence = request.parameters.some(([key]) => key === 'sequence_id');
    if (this.#inSequences && !hasSequence) {
      throw typeError(`a sequence, which model '${this.#model}' works in,`, 'sequence', undefined);
    }
  }

  #isBatched(): boolean {
    return this.#maxBatchSize !== undefined && this.#maxBatchSize > 0;
  }

  #checkInput({ name, datatype, shape }: CheckedInput, known: TensorMetadata): void {
    if (datatype !== known.datatype) throw typeError(known.datatype, `the datatype of ${this.#input(name)}`, datatype);
    if (this.#shapeInputs.has(name)) return;
    const fits =
      shape.length === known.shape.length &&
      known.shape.every((dimension, index) => dimension < 0 || dimension === shape[index]);
    if (!fits) throw rangeError(`[${known.shape.join(', ')}]`, `the shape of ${this.#input(name)}`, [...shape]);
  }

  #checkOutput({ name, region, classification }: CheckedOutput, batch: number | undefined): void {
    const known = this.#outputs.get(name);
    if (known === undefined) throw rangeError(anyOf(this.#outputs), `an output of model '${this.#model}'`, name);
    const { datatype } = known;
    if (classification !== undefined) {
      if (datatype === 'BYTES') throw classificationOfBytes(this.#model, name);
      if (WITHOUT_CLASSES.has(datatype)) {
        throw typeError('a datatype with classes', `the classification of ${this.#output(name)}`, datatype);
      }
    }
    if (region === undefined) return;
    if (this.#decoupled) {
      throw unsafeRequest(
        `Model '${this.#model}' is decoupled: each of its answers would be written to the region of output '${name}', over the one before`,
      );
    }
    const needed = this.#byteLength(known, batch);
    if (needed !== undefined && region.byteLength < needed) {
      const expected = `at least ${needed} bytes (${datatype} [${known.shape.join(', ')}])`;
      throw rangeError(expected, `the region of ${this.#output(name)}`, region.byteLength);
    }
  }

  /** Undefined where the size is not known before the answer. */
  #byteLength({ name, datatype, shape }: TensorMetadata, batch: number | undefined): number | undefined {
    const size = elementByteLength(datatype);
    const [first = 1, ...rest] = shape;
    const outermost = this.#isBatched() ? (this.#ownBatch.has(name) ? undefined : batch) : first;
    if (size === undefined || outermost === undefined || outermost < 0) return undefined;
    if (rest.some((dimension) => dimension < 0)) return undefined;
    return rest.reduce((product, dimension) => product * dimension, outermost * size);
  }

  #input(name: string): string {
    return `input '${name}' of model '${this.#model}'`;
  }

  #output(name: string): string {
    return `output '${name}' of model '${this.#model}'`;
  }
}

function anyOf(tensors: ReadonlyMap<string, TensorMetadata>): string {
  return `one of ${[...tensors.keys()].map((name) => `'${name}'`).join(', ')}`;
}

function listIn(config: ModelConfig | undefined, field: string): Record<string, unknown>[] {
  return (config?.raw[field] ?? []) as Record<string, unknown>[];
}
