import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const TAIL_BYTES = 256 * 1024;

/** The last `lines` lines of a file, at most 256 KiB; empty when it can't be read. */
export function readTail(path: string, lines: number): string {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return '';
  }
  try {
    const size = fstatSync(file).size;
    const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
    const read = readSync(file, bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString('utf8', 0, read).trimEnd().split('\n').slice(-lines).join('\n');
  } finally {
    closeSync(file);
  }
}

/** Why a server did not come up, as far as its log tells. */
export interface LogVerdict {
  kind: 'port' | 'library' | 'shm' | 'model' | 'other';
  /** The line that decided, shortened to what was said. */
  line: string;
}

const PATTERNS: readonly { kind: LogVerdict['kind']; pattern: RegExp }[] = [
  { kind: 'library', pattern: /error while loading shared libraries: .*/ },
  { kind: 'shm', pattern: /.*(?:No space left on device|Failed to (?:initialize|increase) .*shared memory).*/i },
  { kind: 'port', pattern: /.*(?:already in use|failed to start (?:HTTP|GRPC|Metrics) service).*/i },
  { kind: 'model', pattern: /failed to load '[^']*' version .*/ },
  { kind: 'model', pattern: /failed to (?:load|poll) .*/ },
  { kind: 'model', pattern: /load failed for model .*/ },
  { kind: 'other', pattern: /(?:^|\n)error: .*/ },
  // Every server without a GPU says the one about the CUDA driver.
  { kind: 'other', pattern: /(?:^|\n)E\d{4} (?!.*CudaDriverHelper).*/ },
];

/** Finds the line of a server's log that tells why it ended. */
export function judgeLog(log: string): LogVerdict {
  for (const { kind, pattern } of PATTERNS) {
    const match = pattern.exec(log);
    if (match !== null) return { kind, line: shorten(match[0]) };
  }
  return { kind: 'other', line: shorten(log.trimEnd().split('\n').at(-1) ?? '') };
}

/** Whether a server that still runs can be given up. */
export function isHopeless(log: string): boolean {
  return judgeLog(log).kind === 'library';
}

function shorten(line: string): string {
  const text = line
    .trim()
    .replace(/^[EWI]\d{4} [\d:.]+ \d+ \S+\] /, '')
    .replaceAll('"', '')
    .replace(/\\n.*/, '')
    .trim();
  return text.length > 400 ? `${text.slice(0, 399)}…` : text;
}
