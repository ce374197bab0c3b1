import { ServerError } from '../../src/status.js';

/** What a front end would answer: the code, and the text of an error or what was given. */
export type Outcome = { readonly code: number; readonly text: string } | { readonly code: 0; readonly value: unknown };

/** What a call of ours comes to, as a client of the front end sees it. */
export async function outcomeOf(protocol: 'grpc' | 'http', call: () => unknown): Promise<Outcome> {
  try {
    return { code: 0, value: await call() };
  } catch (error) {
    if (!(error instanceof ServerError)) throw error;
    if (protocol === 'http') return { code: error.httpStatus, text: error.message };
    // Node drops a header that ends in a space, and with it the whole text.
    return { code: error.grpcStatus, text: error.message.endsWith(' ') ? '' : error.message };
  }
}
