/** Prints a results file of transports.js, client.js or cuda.js as Markdown: `node report.js FILE`. */
import { readFileSync } from 'node:fs';
import { clientToMarkdown } from './client/markdown.js';
import type { ClientResults } from './client/results.js';
import { cudaToMarkdown } from './cuda/markdown.js';
import type { CudaResults } from './cuda/results.js';
import { toMarkdown } from './markdown.js';
import type { TransportResults } from './results.js';

const file = process.argv[2];
if (file === undefined) {
  process.stderr.write('usage: report.js FILE\n');
  process.exitCode = 2;
} else {
  const results = JSON.parse(readFileSync(file, 'utf8')) as TransportResults | ClientResults | CudaResults;
  const text =
    results.kind === 'cuda'
      ? cudaToMarkdown(results)
      : results.kind === 'client'
        ? clientToMarkdown(results)
        : toMarkdown(results);
  process.stdout.write(text);
}
