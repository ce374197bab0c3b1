import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CliError } from './errors.js';
import { readInput } from './files.js';
import { findModelRepository } from './model-repository.js';

/** Class names from text: one a line, in the order of the model's classes. Blank lines at the end don't count. */
export function parseLabels(text: string): string[] {
  const lines = text.trimEnd();
  return lines === '' ? [] : lines.split('\n').map((line) => line.trim());
}

/**
 * The names of a model's classes: from `file` when given; else what the server's model configuration says in its
 * parameter `labels` (comma separated); else `labels.txt` of a model of that name here; else `class 0`, `class 1`, …
 * @throws CliError ERR_FILE_NOT_FOUND, ERR_FILE_UNREADABLE, ERR_LABELS when `file` has not one name for each class
 */
export async function resolveLabels(options: {
  readonly file?: string | undefined;
  readonly model: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly classCount: number;
}): Promise<string[]> {
  const { file, model, parameters, classCount } = options;
  if (file !== undefined) {
    const labels = parseLabels((await readInput(file)).toString('utf8'));
    if (labels.length !== classCount) {
      const has = ['no labels', '1 label'][labels.length] ?? `${labels.length} labels`;
      throw new CliError(
        'ERR_LABELS',
        `${file} has ${has} but model "${model}" has ${classCount} classes; give one label a line for each class.`,
      );
    }
    return labels;
  }
  const declared = parameters.labels?.split(',').map((label) => label.trim());
  if (declared?.length === classCount) return declared;
  const beside = await labelsBeside(model);
  if (beside?.length === classCount) return beside;
  return Array.from({ length: classCount }, (_, classId) => `class ${classId}`);
}

async function labelsBeside(model: string): Promise<string[] | undefined> {
  const repository = findModelRepository();
  if (repository === undefined) return undefined;
  try {
    return parseLabels(await readFile(join(repository, model, 'labels.txt'), 'utf8'));
  } catch {
    return undefined;
  }
}
