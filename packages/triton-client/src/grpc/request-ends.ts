import type { StatusObject } from '@grpc/grpc-js';
import type { TritonError } from '../errors.js';
import { RequestEnds } from '../request-ends.js';
import type { GrpcRequest } from './grpc-request.js';
import { errorOfEnd } from './lane-errors.js';
import { forbidsStreams, neverLeft } from './not-sent.js';
import { judgeUnary } from './unary-answer.js';
import type { UnaryEnd } from './unary-call.js';

/** What the ends of lanes and unary calls mean for their requests. */
export class GrpcRequestEnds extends RequestEnds<GrpcRequest> {
  /**
   * The stream of a lane is over, and its request has no answer.
   *
   * @returns whether the server lets no stream through: the request is then sent by another way
   */
  ofLane(
    request: GrpcRequest,
    url: string,
    status: StatusObject,
    { accepted, wanted }: { readonly accepted: boolean; readonly wanted: boolean },
  ): boolean {
    const forbids = !accepted && forbidsStreams(status);
    if (forbids && wanted) {
      request.carrier = undefined;
      // Not an attempt: it is the first that goes by the way that is left.
      request.attemptsLeft += 1;
      request.unary = 'forbidden';
      this.again(request);
    } else if (forbids) request.settle('not-sent');
    else if (!accepted && neverLeft(status)) {
      this.notSent(request, errorOfEnd(request.encoded, url, status, true), wanted);
    } else this.lose(request, errorOfEnd(request.encoded, url, status));
    return forbids;
  }

  /** @returns the server's own word, where it is an error */
  ofUnary(request: GrpcRequest, url: string, end: UnaryEnd, wanted: boolean): TritonError | undefined {
    if (end.kind === 'not-sent') {
      this.notSent(request, end.reason, wanted);
      return undefined;
    }
    const verdict = judgeUnary(request.encoded, url, end.status, end.message);
    if ('result' in verdict) {
      request.resolve(verdict.result);
      request.settle('answered');
      return undefined;
    }
    const { error, settlement } = verdict;
    if (settlement === 'lost') this.lose(request, error);
    else if (settlement === 'not-sent') this.notSent(request, error, wanted);
    else this.refused(request, error, wanted);
    return settlement === 'answered' ? error : undefined;
  }
}
