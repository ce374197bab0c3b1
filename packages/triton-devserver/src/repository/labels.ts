import { join } from 'node:path';
import type { ModelConfig } from '../grpc/gen/model_config.js';
import { readModelFile } from './model-file.js';

/**
 * The labels of the outputs that name a file of them: one a line.
 *
 * @throws ServerError for a file that can't be read
 */
export function readLabels(folder: string, config: ModelConfig): Map<string, readonly string[]> {
  const labels = new Map<string, readonly string[]>();
  for (const { name, label_filename } of config.output) {
    if (label_filename === '') continue;
    const lines = readModelFile(join(folder, label_filename)).toString('utf8').split('\n');
    if (lines.at(-1) === '') lines.pop();
    labels.set(name, lines);
  }
  return labels;
}
