import { object, typeError } from './check.js';
import type { CheckedRequest } from './request.js';
import type { InferRequest } from './types/request.js';

type Requests = Iterable<InferRequest> | AsyncIterable<InferRequest>;

/**
 * The requests of a stream, each checked when it is asked for. No generator: one that waits for its source could not be
 * left.
 *
 * @param classified - looks at requests that ask for classes, before they are sent
 * @throws TypeError for what is neither iterable nor async iterable
 */
export function checkedRequests(
  requests: Requests,
  check: (request: InferRequest) => CheckedRequest,
  classified: (request: CheckedRequest) => Promise<void>,
): AsyncIterator<CheckedRequest> {
  const source = iteratorOf(requests);
  return {
    async next() {
      const step = object(await source.next(), 'a step of requests');
      // The protocol takes any value for true that is one.
      if (step.done) return { done: true, value: undefined };
      const checked = check(step.value);
      if (checked.classified.length > 0) await classified(checked);
      return { done: false, value: checked };
    },
    async return() {
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
}

function iteratorOf(requests: Requests): Iterator<InferRequest> | AsyncIterator<InferRequest> {
  if (typeof requests === 'object' && requests !== null) {
    if (Symbol.asyncIterator in requests) return requests[Symbol.asyncIterator]();
    if (Symbol.iterator in requests) return requests[Symbol.iterator]();
  }
  throw typeError('iterable or async iterable of requests', 'requests', requests);
}
