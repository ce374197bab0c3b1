import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Root folder of the clone. */
export const repositoryRoot: string = findRoot();

function findRoot(): string {
  for (let path = dirname(fileURLToPath(import.meta.url)); path !== dirname(path); path = dirname(path)) {
    if (existsSync(join(path, 'pnpm-workspace.yaml'))) return path;
  }
  throw new Error('No pnpm-workspace.yaml above the test helpers: run the tests inside the clone');
}
