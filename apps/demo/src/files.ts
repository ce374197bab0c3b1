import { constants, unlinkSync } from 'node:fs';
import {
  access,
  type FileHandle,
  mkdir,
  open,
  realpath,
  rename,
  rmdir,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { getSystemErrorMap } from 'node:util';
import { CliError, codeOf } from './errors.js';

/** A file of more is no picture that could be decoded. */
const largestInput = 2 ** 30;

/** Reads a whole input file; what can go wrong is told in one sentence. What is no file, such as a pipe, is refused. */
export async function readInput(path: string): Promise<Buffer> {
  let file: FileHandle | undefined;
  try {
    // A pipe would keep even the opening waiting for a writer.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await file.stat();
    if (found.isDirectory()) throw unreadable(`${path} is a directory; name the files in it instead.`);
    if (!found.isFile()) throw unreadable(`${path} is no regular file; name one.`);
    if (found.size > largestInput) {
      throw unreadable(
        `${path} has ${found.size} bytes, and more than ${largestInput} are not read; name another file.`,
      );
    }
    return await file.readFile();
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    switch (codeOf(cause) ?? '') {
      case 'ENOENT':
      case 'ENOTDIR':
        throw new CliError('ERR_FILE_NOT_FOUND', `${path} does not exist; check the path.`, { cause });
      case 'EACCES':
        throw unreadable(`${path} may not be read by this user; change its permissions.`, cause);
      case 'ENXIO':
        throw unreadable(`${path} is no regular file; name one.`, cause);
      default:
        throw unreadable(`${path} can't be read (${systemWords(cause)}); check the path and its disk.`, cause);
    }
  } finally {
    await file?.close();
  }
}

function unreadable(sentence: string, cause?: unknown): CliError {
  return new CliError('ERR_FILE_UNREADABLE', sentence, cause === undefined ? undefined : { cause });
}

/** What the system says of a failed call, without the call and the paths that it was given. */
export function systemWords(error: unknown): string {
  const { code, errno, message } = error as NodeJS.ErrnoException;
  const text = errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1];
  return text === undefined ? message : `${code}: ${text}`;
}

/** The sentence for something that can't be written, with what helps. */
function unwritable(what: string, cause: unknown): CliError {
  const advice = writeAdvice[codeOf(cause) ?? ''] ?? 'choose another place';
  return new CliError('ERR_OUTPUT', `${what} (${systemWords(cause)}); ${advice}.`, { cause });
}

const writeAdvice: Readonly<Record<string, string>> = {
  EACCES: 'change the permissions there or choose another place',
  EDQUOT: 'free some of your quota there or choose another place',
  ENOSPC: 'free some space there or choose another place',
  EPERM: 'change the permissions there or choose another place',
};

/** Fails early when `path` can't be a folder to write into: tries, and leaves everything as it was. */
export async function checkOutputFolder(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found !== undefined && !found.isDirectory()) {
    throw new CliError('ERR_OUTPUT', `${path} is not a directory; give --out a directory.`);
  }
  if (found === undefined) {
    await removeFolders(await makeOutputFolder(path));
    return;
  }
  await withTemporary(join(path, 'trial'), (file) => writeFile(file, '', { flag: 'wx' })).catch((cause: unknown) => {
    throw unwritable(`Nothing can be written into the directory ${path}`, cause);
  });
}

/**
 * Makes a folder to write into and those above it, where they are missing. One by one: Node's own `recursive` tries for
 * ever where the system refuses a new folder with ENOENT, as /proc does.
 * @returns those that it made, the outermost first
 */
export async function makeOutputFolder(path: string): Promise<string[]> {
  const missing: string[] = [];
  const made: string[] = [];
  for (let at = resolve(path); (await stat(at).catch(() => undefined)) === undefined; at = dirname(at)) {
    missing.push(at);
    if (at === dirname(at)) break;
  }
  try {
    for (const folder of missing.reverse()) {
      try {
        await mkdir(folder);
        made.push(folder);
      } catch (cause) {
        // Somebody else made it meanwhile.
        if (codeOf(cause) !== 'EEXIST') throw cause;
      }
    }
    return made;
  } catch (cause) {
    await removeFolders(made);
    throw unwritable(`The directory ${path} can't be made`, cause);
  }
}

/** Removes folders that are still empty, the innermost first. */
async function removeFolders(outermostFirst: readonly string[]): Promise<void> {
  for (const folder of [...outermostFirst].reverse()) await rmdir(folder).catch(() => undefined);
}

/** Fails early when the file `path` can't be written: tries, and leaves everything as it was. */
export async function checkOutputFile(path: string): Promise<void> {
  const folder = await stat(dirname(resolve(path))).catch(() => undefined);
  if (folder?.isDirectory() !== true) {
    throw new CliError('ERR_OUTPUT', `The directory of ${path} does not exist; create it first.`);
  }
  try {
    const target = await realpathOr(path);
    const found = await stat(target).catch(() => undefined);
    if (found?.isDirectory() === true) {
      throw new CliError('ERR_OUTPUT', `${path} is a directory; name a file to write.`);
    }
    if (found === undefined || found.isFile())
      await withTemporary(target, (file) => writeFile(file, '', { flag: 'wx' }));
    else await access(target, constants.W_OK);
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    throw unwritable(`${path} can't be written`, cause);
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
    throw unwritable(`${path} can't be written`, cause);
  }
}

async function replace(path: string, data: string | Uint8Array): Promise<void> {
  await withTemporary(path, async (file) => {
    await writeFile(file, data, { flag: 'wx' });
    await rename(file, path);
  });
}

/** Lends a name beside `path`, under which nothing stays: not after a failure, nor when the process ends. */
async function withTemporary(path: string, use: (file: string) => Promise<void>): Promise<void> {
  const file = join(dirname(path), `.${basename(path)}.${process.pid}-${serial++}.tmp`);
  unfinished.add(file);
  try {
    await use(file);
  } finally {
    await unlink(file).catch(() => undefined);
    unfinished.delete(file);
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
