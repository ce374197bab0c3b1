import type { TritonClient } from '@zerohop/triton-client';
import { CliError, codeOf } from './errors.js';

/** The part of a client that describing a model takes. */
export type ModelClient = Pick<TritonClient, 'modelMetadata' | 'modelConfig' | 'repositoryIndex'>;

/** A detector as its server describes it. */
export interface DetectorModel {
  readonly name: string;
  /** The `parameters` of the model's configuration. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly input: { readonly name: string; readonly width: number; readonly height: number };
  readonly output: { readonly name: string; readonly classCount: number; readonly anchors: number };
}

/**
 * Asks the server for a model and checks that it is a detector this app can drive: one FP32 input
 * `[1, 3, height, width]`, and an FP32 output `[1, 4 + classes, anchors]` (the YOLOv8 layout).
 * @throws CliError ERR_MODEL_NOT_FOUND (the sentence lists the models that are there), ERR_MODEL_SHAPE
 */
export async function readDetectorModel(client: ModelClient, name: string, url: string): Promise<DetectorModel> {
  const { inputs, outputs } = await client.modelMetadata(name).catch(async (cause: unknown) => {
    if (codeOf(cause) !== 'TRITON_NOT_FOUND' && codeOf(cause) !== 'TRITON_UNAVAILABLE') throw cause;
    throw new CliError('ERR_MODEL_NOT_FOUND', await notFoundSentence(client, name, url, cause), { cause });
  });
  const input = inputs[0];
  const image = input?.shape.map((size, axis) => (axis === 0 && size === -1 ? 1 : size)) ?? [];
  const [batch, channels, height = 0, width = 0] = image;
  const fits = image.length === 4 && batch === 1 && channels === 3 && height > 0 && width > 0;
  if (inputs.length !== 1 || input?.datatype !== 'FP32' || !fits) {
    throw new CliError(
      'ERR_MODEL_SHAPE',
      `Model "${name}" takes ${describe(inputs)}, but detect needs exactly one image input FP32 [1, 3, height, width]; choose another with --model.`,
    );
  }
  const output = outputs.find(({ datatype, shape }) => datatype === 'FP32' && isYolov8(shape));
  if (output === undefined) {
    throw new CliError(
      'ERR_MODEL_SHAPE',
      `Model "${name}" gives ${describe(outputs)}, but detect reads FP32 [1, 4 + classes, anchors] as YOLOv8 exports it; choose another with --model.`,
    );
  }
  const [, rows, anchors] = output.shape as [number, number, number];
  const open = outputs.find((other) => other !== output && isOpen(other));
  if (open !== undefined) {
    throw new CliError(
      'ERR_MODEL_SHAPE',
      `Model "${name}" gives ${describe([open])}, whose size is not known before the answer; choose another with --model.`,
    );
  }
  for (const { tensor, elements } of [
    { tensor: input, elements: 3 * height * width },
    { tensor: output, elements: rows * anchors },
  ]) {
    if (elements * Float32Array.BYTES_PER_ELEMENT <= largestTensor) continue;
    throw new CliError(
      'ERR_MODEL_SHAPE',
      `Model "${name}" has the tensor ${describe([tensor])} of ${elements * Float32Array.BYTES_PER_ELEMENT} bytes, and more than ${largestTensor} can't be held here; choose another with --model.`,
    );
  }
  const { parameters, decoupled } = await client.modelConfig(name);
  if (decoupled) {
    throw new CliError(
      'ERR_MODEL_SHAPE',
      `Model "${name}" is decoupled and may answer a picture several times, but detect reads one answer; choose another with --model.`,
    );
  }
  return {
    name,
    parameters,
    input: { name: input.name, width, height },
    output: { name: output.name, classCount: rows - 4, anchors },
  };
}

/** What one buffer of Node.js 20 can hold, in bytes. */
const largestTensor = 2 ** 32;

/** Whether an answer's size can't be told from the model's description. */
function isOpen({ datatype, shape }: { readonly datatype: string; readonly shape: readonly number[] }): boolean {
  return datatype === 'BYTES' || shape.includes(-1);
}

function isYolov8([batch = 0, rows = 0, anchors = 0, ...rest]: readonly number[]): boolean {
  return (batch === 1 || batch === -1) && rows > 4 && anchors > rows && rest.length === 0;
}

async function notFoundSentence(client: ModelClient, name: string, url: string, cause: unknown): Promise<string> {
  const models = await client.repositoryIndex({ ready: true }).catch((second: unknown) => {
    // Then it is the server that is gone, not the model.
    if (codeOf(cause) === 'TRITON_UNAVAILABLE' && codeOf(second) === 'TRITON_UNAVAILABLE') throw cause;
    return undefined;
  });
  const names = [...new Set(models?.map((model) => model.name))].sort();
  const has = models === undefined ? '' : ` (it has ${names.join(', ') || 'none'})`;
  return `The server at ${url} has no model "${name}" ready${has}; choose one with --model or load it there.`;
}

function describe(tensors: readonly { name: string; datatype: string; shape: readonly number[] }[]): string {
  if (tensors.length === 0) return 'nothing';
  return tensors.map(({ name, datatype, shape }) => `${name} ${datatype} [${shape.join(', ')}]`).join(' and ');
}
