import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The Triton model repository that comes with this app: in the package when installed, at the top of the clone else. */
export function findModelRepository(): string | undefined {
  return ['../models', '../../../models']
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(path));
}

/** The models in a repository: every folder with a configuration. */
export function listModels(repository: string): string[] {
  return readdirSync(repository)
    .filter((name) => existsSync(join(repository, name, 'config.pbtxt')))
    .sort();
}
