let given = false;

/** Says, once in a process, that pictures are converted on the JS thread which threads should have converted. */
export function warnOnce(why: string): void {
  if (given) return;
  given = true;
  process.emitWarning(`Large pictures are converted on the JS thread, in turns of 8 ms: ${why}`, {
    type: 'ZerohopWarning',
    code: 'ZEROHOP_CPU_THREADS',
  });
}
