import { fs } from './builtins.js';

/** What is known of something that must be closed. */
interface Open {
  readonly kind: string;
  readonly what: string;
  /** Where it was made; only when leaks are traced. */
  readonly stack: string | undefined;
  readonly whenCollected: (() => void) | undefined;
}

/** With `ZEROHOP_TRACE_LEAKS=1` every leak is told with the stack that made it, and what is open at exit is listed. */
const tracing = process.env.ZEROHOP_TRACE_LEAKS === '1';

const warned = new Set<string>();
const open = new Set<Open>();

function warn({ kind, what, stack }: Open): void {
  if (!tracing && warned.has(kind)) return;
  warned.add(kind);
  const more = tracing ? '' : '. Set ZEROHOP_TRACE_LEAKS=1 to see every one and where it was made';
  process.emitWarning(`${what} was collected without close(): its memory was given back late${more}`, {
    type: 'ResourceWarning',
    code: 'ZEROHOP_LEAK',
    ...(stack !== undefined && { detail: stack }),
  });
}

const registry = new FinalizationRegistry<Open>((held) => {
  open.delete(held);
  warn(held);
  held.whenCollected?.();
});

if (tracing) {
  process.on('exit', () => {
    for (const { what, stack } of open) fs.writeSync(2, `ZEROHOP_LEAK: ${what} was open at exit\n${stack}\n`);
  });
}

/**
 * Watches something that must be closed: when it is collected first, one warning for each kind says so.
 *
 * @param what such as "A DeviceMemory of 4096 bytes on device 0"
 * @param whenCollected called then; must not refer to `owner`
 * @returns to be called when it is closed
 */
export function watchLeak(owner: object, kind: string, what: string, whenCollected?: () => void): () => void {
  const held: Open = { kind, what, stack: tracing ? stackOfMaker() : undefined, whenCollected };
  if (tracing) open.add(held);
  registry.register(owner, held, held);
  return () => {
    open.delete(held);
    registry.unregister(held);
  };
}

function stackOfMaker(): string {
  return (new Error('made').stack ?? '').split('\n').slice(3).join('\n');
}
