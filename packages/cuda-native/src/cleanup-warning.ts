/** Tells of a failure that has no caller: one of giving something back. */
export function warnOfCleanup(error: unknown): void {
  process.emitWarning(error instanceof Error ? error.message : String(error), {
    type: 'CudaWarning',
    code: 'CUDA_CLEANUP',
  });
}
