/** Warnings by `process.emitWarning`, each with a code; the same sentence only once. */
export type WarningCode = 'ZEROHOP_TRANSPORT' | 'ZEROHOP_RETIRED' | 'ZEROHOP_SLOT_LOST';

const given = new Set<string>();

export function warn(code: WarningCode, message: string): void {
  if (given.has(message)) return;
  given.add(message);
  process.emitWarning(message, { type: 'ZerohopWarning', code });
}
