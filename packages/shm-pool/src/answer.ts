/** What a client says that a server has answered, looked at before it is believed. */
import type { ClientOutput, ClientResult } from './client.js';
import { PoolError } from './errors.js';

/**
 * The outputs of an answer: each with a name, a datatype and a shape. Their bytes are for `messageBytesOf` to look at, since
 * those of an output in a region are not the client's.
 * @throws PoolError ERR_ANSWER_MISMATCH
 */
export function outputsOf(result: ClientResult): readonly ClientOutput[] {
  const { outputs } = Object(result) as { outputs?: unknown };
  if (!Array.isArray(outputs)) throw malformed('what it resolved with has no array of outputs');
  for (let index = 0; index < outputs.length; index += 1) {
    const { name, datatype, shape } = Object(outputs[index]) as Partial<Record<keyof ClientOutput, unknown>>;
    if (typeof name !== 'string') throw malformed(`outputs[${index}] has no name`);
    if (typeof datatype !== 'string') throw malformed(`output '${name}' has no datatype`);
    if (!isListOfNumbers(shape)) throw malformed(`output '${name}' has no shape of numbers`);
  }
  return outputs as readonly ClientOutput[];
}

function isListOfNumbers(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  // Not by `every`, which leaves holes out.
  for (let index = 0; index < value.length; index += 1) if (typeof value[index] !== 'number') return false;
  return true;
}

/**
 * The bytes that came in the message.
 * @throws PoolError ERR_ANSWER_MISMATCH
 */
export function messageBytesOf({ name, bytes }: ClientOutput): Uint8Array {
  const given: unknown = bytes;
  if (!(given instanceof Uint8Array)) throw malformed(`output '${name}' has no bytes (a Uint8Array)`);
  return given;
}

/** The error for an output that was asked for and did not come. */
export const noOutput = (name: string) => new PoolError('ERR_ANSWER_MISMATCH', `The answer has no output '${name}'`);

const malformed = (why: string) =>
  new PoolError('ERR_ANSWER_MISMATCH', `The client gave no answer that can be read: ${why}`);
