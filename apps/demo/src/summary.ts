import type pc from 'picocolors';
import type { DetectResult } from './report.js';

/** Bold and dim, or neither where the terminal shows none. */
export type Colors = ReturnType<typeof pc.createColors>;

const transportNames = {
  cuda: 'CUDA shared memory',
  system: 'system shared memory',
  bytes: 'tensors in the message',
} as const;

/** The lines that say who answers and over what. */
export function describeServer(
  result: Pick<DetectResult, 'server' | 'model' | 'transport' | 'reason'>,
  colors: Colors,
): string {
  const { server, model, transport, reason } = result;
  return [
    `${colors.bold('server')}     ${printable(`${server.name} ${server.version}, model ${model}`)}`,
    `${colors.bold('transport')}  ${transportNames[transport]}`,
    `           ${printable(reason)}`,
    '',
  ].join('\n');
}

/** What one picture gave, as a table. */
export function describeResult(result: DetectResult, colors: Colors): string {
  const { image, detections, truncated, timings, annotated } = result;
  const count = detections.length === 1 ? '1 object' : `${detections.length} objects`;
  // Whole pixels say nothing about a box in a picture of a few.
  const digits = Math.min(image.width, image.height) < 100 ? 2 : 0;
  const rows = detections.map(({ label, score, box }) => [
    printable(label),
    score.toFixed(3),
    ...box.map((v) => v.toFixed(digits)),
  ]);
  const lines = [
    `${colors.bold(printable(image.path))}  ${image.width} x ${image.height}, ${count}${truncated === true ? ', the best of more' : ''}`,
    ...(rows.length > 0 ? table(['label', 'score', 'x1', 'y1', 'x2', 'y2'], rows, colors) : []),
    `  decode ${ms(timings.decode)} + preprocess ${ms(timings.preprocess)} + infer ${ms(timings.infer)} + ` +
      `postprocess ${ms(timings.postprocess)} = ${ms(timings.total)} ms`,
  ];
  if (annotated !== undefined) lines.push(`  annotated: ${printable(annotated)}`);
  return `${lines.join('\n')}\n`;
}

/** First column to the left, numbers to the right. */
function table(head: readonly string[], rows: readonly (readonly string[])[], colors: Colors): string[] {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)));
  const line = (cells: readonly string[]) =>
    `  ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  ')}`;
  return [colors.dim(line(head)), ...rows.map(line)];
}

function ms(value: number): string {
  return value < 10 ? value.toFixed(1) : value.toFixed(0);
}

/** Without control characters: names come from files and servers, and must not steer the terminal. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '\u{fffd}');
}
