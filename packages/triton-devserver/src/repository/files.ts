import { readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';

/** undefined for what is not there, or can't be reached, such as by a link to itself. */
function look(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** Pipes and devices are none: reading them may never end. */
export function isFile(path: string): boolean {
  return look(path)?.isFile() === true;
}

/** Folders in a folder, links to folders too, in the order of their names; hidden ones are left out. */
export function foldersIn(path: string): string[] {
  return readdirSync(path)
    .filter((name) => !name.startsWith('.') && look(join(path, name))?.isDirectory() === true)
    .sort();
}

/** @returns undefined when there is no such file. @throws Error when it can't be read */
export function readText(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (!stats.isFile()) throw new Error(`${path} is no file`);
  return readFileSync(path, 'utf8');
}

/** Every file and folder below a folder with its size and time: changes when one of them does. */
export function revisionOf(path: string): string {
  const seen = new Set<string>();
  const lines: string[] = [];
  const walk = (folder: string, name: string) => {
    const { dev, ino } = statSync(folder, { bigint: true });
    // By links a folder may be in itself, or in many others.
    if (seen.has(`${dev}:${ino}`)) return;
    seen.add(`${dev}:${ino}`);
    for (const entry of readdirSync(folder)) {
      const stats = look(join(folder, entry));
      lines.push(`${join(name, entry)} ${stats?.mtimeMs} ${stats?.size}`);
      if (stats?.isDirectory() === true) walk(join(folder, entry), join(name, entry));
    }
  };
  walk(path, '');
  return lines.sort().join('\n');
}
