import type { AskedOutputs } from '../lazy-result.js';
import { decodeStreamAnswer, type StreamAnswer } from './decode.js';

/** Longer answers are not worth keeping: what repeats is names and shapes. */
const MAX_BYTES = 1024;

/**
 * Answers to one prepared request whose outputs all go to regions. They carry no tensor, so a server repeats them to the
 * byte, and comparing a few hundred bytes is cheaper than reading them.
 */
export class RepeatedAnswers {
  readonly #asked: AskedOutputs;
  #message: Buffer | undefined;
  #answer: StreamAnswer | undefined;

  constructor(asked: AskedOutputs) {
    this.#asked = asked;
  }

  /** As `decodeStreamAnswer`; equal messages give the same object. */
  read(message: Buffer): StreamAnswer {
    if (this.#answer !== undefined && this.#message?.equals(message) === true) return this.#answer;
    const answer = decodeStreamAnswer(message, this.#asked);
    if (message.byteLength > MAX_BYTES || answer.error !== undefined) return answer;
    this.#message = message;
    this.#answer = answer;
    return answer;
  }
}
