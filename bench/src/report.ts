/** Prints a results file of the transports benchmark as Markdown: `node report.js FILE`. */
import { readFileSync } from 'node:fs';
import { toMarkdown } from './markdown.js';
import type { TransportResults } from './results.js';

const file = process.argv[2];
if (file === undefined) {
  process.stderr.write('usage: report.js FILE\n');
  process.exitCode = 2;
} else {
  process.stdout.write(toMarkdown(JSON.parse(readFileSync(file, 'utf8')) as TransportResults));
}
