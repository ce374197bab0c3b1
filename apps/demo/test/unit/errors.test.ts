import { describe, expect, it } from 'vitest';
import { CliError, debugTrace, describeError } from '../../src/errors.js';
import { ExitCode } from '../../src/exit-codes.js';

const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code });

describe('describeError', () => {
  it.each([
    'ERR_CUDA_UNAVAILABLE',
    'ERR_NATIVE_UNAVAILABLE',
    'ERR_DECODER_UNAVAILABLE',
    'ERR_GPU_MISMATCH',
    'ERR_SHM_DISABLED',
    'ERR_SHM_FULL',
    'ERR_SHM_NAMESPACE',
    'ERR_SHM_RESTRICTED',
    'ERR_SHM_SYSTEM',
    'ERR_TRITON_NOT_INSTALLED',
    'ERR_SERVER_UNREACHABLE',
  ])('%s means that the environment lacks something', (code) => {
    expect(describeError(coded(code, 'x')).exitCode).toBe(ExitCode.environment);
  });

  it.each(['ERR_IMAGE_CORRUPT', 'ERR_MODEL_NOT_FOUND', 'ERR_SELF_CHECK', 'TRITON_INTERNAL', 'ERR_POOL_TIMEOUT'])(
    '%s means that the work failed',
    (code) => {
      expect(describeError(coded(code, 'x')).exitCode).toBe(ExitCode.failed);
    },
  );

  it('makes one line of a message, ending like a sentence', () => {
    expect(describeError(coded('TRITON_INTERNAL', 'in model:\n  line 3\n')).sentence).toBe('in model: line 3.');
    expect(describeError(new CliError('ERR_OUTPUT', 'No room; free some.')).sentence).toBe('No room; free some.');
  });

  it('owns up to an error that nobody foresaw', () => {
    const { code, sentence, exitCode } = describeError(new TypeError('x is not a function'));
    expect({ code, exitCode }).toEqual({ code: 'ERR_INTERNAL', exitCode: ExitCode.failed });
    expect(sentence).toMatch(/fault of zerohop.*ZEROHOP_DEBUG=1.*x is not a function\.$/);
    expect(describeError('thrown text').sentence).toMatch(/thrown text\.$/);
  });
});

describe('debugTrace', () => {
  it('follows the causes', () => {
    const trace = debugTrace(new CliError('ERR_OUTPUT', 'outer', { cause: new Error('middle', { cause: 'inner' }) }));
    expect(trace).toMatch(/outer[\s\S]*\ncaused by: Error: middle[\s\S]*\ncaused by: inner$/);
  });

  it('ends on a cycle', () => {
    const error = new Error('a');
    error.cause = error;
    expect(debugTrace(error).split('caused by').length).toBe(10);
  });
});
