import { describe, expect, it } from 'vitest';
import { CliError } from '../../src/errors.js';
import { modelUnread, noServer, poolUnopened, requestFailed } from '../../src/explain.js';

const coded = (code: string, message = `words of ${code}`): Error => Object.assign(new Error(message), { code });
const context = { url: 'grpc://h:1', model: 'm', timeoutMs: 5, serverLog: () => 'LOG' };

describe('in words for the command line', () => {
  it.each([
    ['TRITON_TIMEOUT', 'ERR_TIMEOUT', /within 5 ms; .*--timeout, or look at LOG\.$/],
    ['TRITON_CONNECTION_LOST', 'ERR_SERVER_LOST', /went away during a request; look at LOG and run again\.$/],
    ['TRITON_INTERNAL', 'ERR_MODEL_FAILED', /look at LOG: words of TRITON_INTERNAL\.$/],
    ['TRITON_UNKNOWN', 'ERR_MODEL_FAILED', /look at LOG: words of TRITON_UNKNOWN\.$/],
    [
      'ERR_ANSWER_MISMATCH',
      'ERR_MODEL_FAILED',
      /otherwise than it declares \(words of .*\); correct its configuration/,
    ],
    ['ERR_OUTPUT_TOO_LARGE', 'ERR_MODEL_FAILED', /otherwise than it declares \(an output is larger\); correct/],
  ])('a request with %s', (code, expected, sentence) => {
    const cause = coded(code);
    expect(requestFailed(cause, context)).toMatchObject({
      code: expected,
      message: expect.stringMatching(sentence),
      cause,
    });
  });

  it.each([
    ['ERR_GPU_MISMATCH', /--metrics-url, or use --transport system\.$/],
    ['ERR_IPC_REFUSED', /look at LOG or choose another --transport: words of ERR_IPC_REFUSED\.$/],
    ['ERR_SHM_REFUSED', /look at LOG or choose another --transport: words of ERR_SHM_REFUSED\.$/],
    ['ERR_SHM_RESTRICTED', /allow them with its --grpc-restricted-protocol, or use --transport bytes\.$/],
    ['ERR_SHM_SYSTEM', /\/dev\/shm \(words of .*\); give it write permission there .* use --transport bytes\.$/],
    [
      'ERR_TENSOR_SIZE',
      /^Model "m" has a tensor that can't be held here \(words of .*\); choose another with --model\.$/,
    ],
  ])('a pool with %s', (code, sentence) => {
    const cause = coded(code);
    expect(poolUnopened(cause, context)).toMatchObject({ code, message: expect.stringMatching(sentence), cause });
  });

  it("a pool's finding comes without the pool's advice", () => {
    const cause = coded('ERR_TENSOR_SIZE', "Tensor 'in' needs 9 bytes; a Buffer holds 8: give smaller shapes");
    expect((poolUnopened(cause, context) as Error).message).toBe(
      "Model \"m\" has a tensor that can't be held here (Tensor 'in' needs 9 bytes; a Buffer holds 8); choose another with --model.",
    );
  });

  it('whatever does not describe itself as a Triton server is none', () => {
    for (const cause of [undefined, coded('TRITON_UNIMPLEMENTED'), coded('TRITON_INTERNAL')]) {
      expect(noServer('grpc://h:1', cause)).toMatchObject({ code: 'ERR_SERVER_UNREACHABLE', cause });
    }
  });

  it('leaves alone what it has no better words for', () => {
    const restricted = coded('TRITON_UNAVAILABLE', 'This protocol is restricted, expecting header');
    const other = new Error('other');
    const known = new CliError('ERR_MODEL_SHAPE', 'x');
    expect(noServer('grpc://h:1', restricted)).toBe(restricted);
    expect(noServer('grpc://h:1', other)).toBe(other);
    expect(modelUnread('grpc://h:1', known)).toBe(known);
    expect(poolUnopened(other, context)).toBe(other);
    expect(requestFailed(known, context)).toBe(known);
  });
});
