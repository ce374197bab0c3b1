import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join, normalize } from 'node:path';
import { ConfigError } from '../config/config-error.js';
import type { LoadOptions } from '../core/core.js';
import { FolderModel } from './folder.js';
import type { RepositoryContext, RepositoryModel } from './repository.js';

/**
 * Opens a model whose files came with the load: they, and no others, make up its folder, which is a temporary one that
 * `dispose` removes.
 */
export async function openFiles(
  name: string,
  options: LoadOptions,
  context: RepositoryContext,
): Promise<RepositoryModel> {
  const files = [...(options.files ?? [])].map(([path, bytes]) => [normalize(path), bytes] as const);
  if (options.config === undefined) throw new ConfigError('', 'files in a load need a configuration beside them');
  const outside = files.find(([path]) => isAbsolute(path) || path.split(/[\\/]/)[0] === '..');
  if (outside !== undefined) throw new ConfigError('', `the file ${outside[0]} is outside of the model's folder`);
  const folder = await mkdtemp(join(tmpdir(), 'triton-devserver-'));
  const dispose = () => rm(folder, { recursive: true, force: true });
  try {
    for (const [path, bytes] of files) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), bytes);
    }
    return { ...(await new FolderModel(name, folder, context).open(options.config)), dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}
