/** Warnings by `process.emitWarning`, each with a code; a sentence is not said again while it is remembered. */
export type WarningCode =
  | 'ZEROHOP_NOT_VERIFIED'
  | 'ZEROHOP_OUTPUT_GREW'
  | 'ZEROHOP_RETIRED'
  | 'ZEROHOP_SLOT_LOST'
  | 'ZEROHOP_TRANSPORT'
  | 'ZEROHOP_WHOLE_ALLOCATION';

/**
 * How many sentences are remembered. They carry the names of regions and of pools, which never come again: a process that
 * lives long says new ones for ever. Far more than what can be repeated in a burst.
 */
const REMEMBERED = 256;

/** In the order in which each was last wanted. */
const given = new Set<string>();

export function warn(code: WarningCode, message: string): void {
  const isNew = !given.delete(message);
  given.add(message);
  if (!isNew) return;
  const [oldest] = given;
  if (given.size > REMEMBERED && oldest !== undefined) given.delete(oldest);
  process.emitWarning(message, { type: 'ZerohopWarning', code });
}
