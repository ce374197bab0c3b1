import { withAdvice } from './advice.js';
import { partsOfText, TritonError, type TritonErrorCode, type TritonErrorFields } from './errors.js';
import type { RequestNames } from './request.js';

/** What an error says of the call it belongs to. */
export interface CallNames {
  /** The RPC, or the one that does the same. */
  readonly method: string;
  readonly model?: string | undefined;
  readonly requestId?: string | undefined;
  /** The region that the call is about. */
  readonly region?: string | undefined;
  /** The server's address, where the text is this client's own. */
  readonly at?: string | undefined;
}

interface Facts
  extends Pick<Partial<TritonErrorFields>, 'details' | 'grpcStatus' | 'httpStatus' | 'didNotRun' | 'cause'> {
  /** What to do, where that depends on more than the text. */
  readonly advice?: string | undefined;
}

/** An error of one call. `text` is the server's, or what this client saw. */
export function callError(
  names: CallNames,
  code: TritonErrorCode,
  text: string,
  { advice, ...facts }: Facts = {},
): TritonError {
  const { method, model, requestId, region, at } = names;
  const of = model === undefined ? method : `${method} of '${model}'`;
  return new TritonError(
    `${of}${at === undefined ? '' : ` at ${at}`}: ${withAdvice(text)}${advice === undefined ? '' : `: ${advice}`}`,
    {
      details: text,
      ...facts,
      code,
      method,
      model,
      requestId,
      region,
      ...partsOfText(text),
    },
  );
}

/** An error of one inference request, or of a stream of them. */
export function requestError(
  request: RequestNames & { readonly method?: string },
  code: TritonErrorCode,
  text: string,
  facts?: Facts,
): TritonError {
  const { method = 'ModelInfer', model, id } = request;
  return callError({ method, model, requestId: id === '' ? undefined : id }, code, text, facts);
}
