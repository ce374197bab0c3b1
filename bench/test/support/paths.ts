import { join } from 'node:path';
import { repositoryRoot } from '@zerohop/test-support';

export const benchModels = join(repositoryRoot, 'bench', 'models');

/** A built program of the benchmark: what users run. */
export const program = (name: string): string => join(repositoryRoot, 'bench', 'dist', `${name}.js`);

/** A module that changes a program from within: `node --import`. */
export const preload = (name: string): string => join(repositoryRoot, 'bench', 'test', 'support', `${name}.mjs`);
