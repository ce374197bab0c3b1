import { unlinkSync } from 'node:fs';
import { mkdir, readFile, realpath, rename, stat, unlink, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { CliError, codeOf } from './errors.js';

/** Reads a whole input file; what can go wrong is told in one sentence. */
export async function readInput(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    switch (codeOf(cause) ?? '') {
      case 'ENOENT':
      case 'ENOTDIR':
        throw new CliError('ERR_FILE_NOT_FOUND', `${path} does not exist; check the path.`, { cause });
      case 'EISDIR':
        throw new CliError('ERR_FILE_UNREADABLE', `${path} is a directory; name the files in it instead.`, { cause });
      case 'EACCES':
        throw new CliError('ERR_FILE_UNREADABLE', `${path} may not be read by this user; change its permissions.`, {
          cause,
        });
      default:
        throw new CliError('ERR_FILE_UNREADABLE', `${path} can't be read: ${(cause as Error).message}.`, { cause });
    }
  }
}

/** Fails early when `path` can't become a folder to write into. Creates nothing. */
export async function checkOutputFolder(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found !== undefined && !found.isDirectory()) {
    throw new CliError('ERR_OUTPUT', `${path} is not a directory; give --out a directory.`);
  }
}

/**
 * Makes a folder to write into and those above it, where they are missing. One by one: Node's own `recursive` tries for
 * ever where the system refuses a new folder with ENOENT, as /proc does.
 */
export async function makeOutputFolder(path: string): Promise<void> {
  const missing: string[] = [];
  for (let at = resolve(path); (await stat(at).catch(() => undefined)) === undefined; at = dirname(at)) {
    missing.push(at);
    if (at === dirname(at)) break;
  }
  try {
    for (const folder of missing.reverse()) {
      await mkdir(folder).catch((cause: unknown) => {
        // Somebody else made it meanwhile.
        if (codeOf(cause) !== 'EEXIST') throw cause;
      });
    }
  } catch (cause) {
    throw new CliError('ERR_OUTPUT', `The directory ${path} can't be made: ${(cause as Error).message}.`, { cause });
  }
}

/** Fails early when the file `path` can't be written for want of its folder. Creates nothing. */
export async function checkOutputFile(path: string): Promise<void> {
  const folder = await stat(dirname(resolve(path))).catch(() => undefined);
  if (folder?.isDirectory() !== true) {
    throw new CliError('ERR_OUTPUT', `The directory of ${path} does not exist; create it first.`);
  }
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) {
    throw new CliError('ERR_OUTPUT', `${path} is a directory; name a file to write.`);
  }
}

const unfinished = new Set<string>();
let serial = 0;
process.on('exit', () => {
  for (const path of unfinished) {
    try {
      unlinkSync(path);
    } catch {
      // Gone, or never made.
    }
  }
});

/**
 * Writes a file so that it is either there and whole or not there at all. A link is followed; what is no file, such as
 * a pipe or /dev/null, is written to and never replaced.
 */
export async function writeWhole(path: string, data: string | Uint8Array): Promise<void> {
  try {
    const target = await realpathOr(path);
    const found = await stat(target).catch(() => undefined);
    if (found === undefined || found.isFile()) await replace(target, data);
    else await writeFile(target, data);
  } catch (cause) {
    throw new CliError('ERR_OUTPUT', `${path} can't be written: ${(cause as Error).message}.`, { cause });
  }
}

async function replace(path: string, data: string | Uint8Array): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}-${serial++}.tmp`);
  unfinished.add(temporary);
  try {
    await writeFile(temporary, data, { flag: 'wx' });
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  } finally {
    unfinished.delete(temporary);
  }
}

/** Names for annotated pictures: `<stem>.annotated.jpg`, with a number where that would hit an input or another output. */
export class OutputNames {
  readonly #folder: string;
  readonly #realFolder: string;
  /** Real paths, whatever path the user took to them. */
  readonly #taken: Set<string>;

  private constructor(folder: string, realFolder: string, taken: Set<string>) {
    this.#folder = folder;
    this.#realFolder = realFolder;
    this.#taken = taken;
  }

  /** `folder` need not exist yet. */
  static async create(folder: string, inputs: readonly string[]): Promise<OutputNames> {
    const taken = new Set(await Promise.all(inputs.map(realpathOr)));
    return new OutputNames(folder, await realpathOr(folder), taken);
  }

  /** A path in the folder that is no input and was not given before. */
  next(input: string): string {
    const stem = basename(input, extname(input));
    for (let n = 1; ; n++) {
      const name = n === 1 ? `${stem}.annotated.jpg` : `${stem}-${n}.annotated.jpg`;
      const path = join(this.#realFolder, name);
      if (this.#taken.has(path)) continue;
      this.#taken.add(path);
      return join(this.#folder, name);
    }
  }
}

async function realpathOr(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path));
}
