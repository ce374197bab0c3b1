import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  checkOutputFile,
  checkOutputFolder,
  makeOutputFolder,
  OutputNames,
  readInput,
  writeWhole,
} from '../../src/files.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'zerohop-files-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('makeOutputFolder', () => {
  it('makes what is missing, and minds nothing that is there', async () => {
    const path = join(folder, 'a', 'b', 'c');
    await Promise.all([makeOutputFolder(path), makeOutputFolder(path)]);
    await makeOutputFolder(path);
    expect(lstatSync(path).isDirectory()).toBe(true);
  });

  it('says why it can not, also where the system says ENOENT', async () => {
    writeFileSync(join(folder, 'file'), '');
    for (const path of [join(folder, 'file', 'x'), '/proc/x', '/proc/x/y']) {
      await expect(makeOutputFolder(path)).rejects.toMatchObject({
        code: 'ERR_OUTPUT',
        message: expect.stringMatching(/^The directory \S+ can't be made \(E\w+: [a-z ]+\); choose another place\.$/),
      });
    }
  });
});

describe('readInput', () => {
  it('reads', async () => {
    writeFileSync(join(folder, 'a'), 'abc');
    expect((await readInput(join(folder, 'a'))).toString()).toBe('abc');
  });

  it('says what is wrong with a path', async () => {
    await expect(readInput(join(folder, 'none.jpg'))).rejects.toMatchObject({
      code: 'ERR_FILE_NOT_FOUND',
      message: expect.stringMatching(/none\.jpg does not exist; check the path\.$/),
    });
    writeFileSync(join(folder, 'file'), '');
    await expect(readInput(join(folder, 'file', 'x'))).rejects.toMatchObject({ code: 'ERR_FILE_NOT_FOUND' });
    await expect(readInput(folder)).rejects.toMatchObject({
      code: 'ERR_FILE_UNREADABLE',
      message: expect.stringMatching(/is a directory; name the files in it instead\.$/),
    });
  });

  it('refuses at once what is no file, and what has no end', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    for (const path of [join(folder, 'pipe'), '/dev/zero', '/dev/null']) {
      await expect(readInput(path)).rejects.toMatchObject({
        code: 'ERR_FILE_UNREADABLE',
        message: `${path} is no regular file; name one.`,
      });
    }
    const path = join(folder, 'huge');
    writeFileSync(path, '');
    truncateSync(path, 2 ** 30 + 1);
    await expect(readInput(path)).rejects.toMatchObject({
      code: 'ERR_FILE_UNREADABLE',
      message: expect.stringMatching(/huge has 1073741825 bytes, and more than 1073741824 are not read; name another/),
    });
  });

  it('refuses a socket', async () => {
    const path = join(folder, 'socket');
    const server = createServer().listen(path);
    await once(server, 'listening');
    try {
      await expect(readInput(path)).rejects.toMatchObject({ message: `${path} is no regular file; name one.` });
    } finally {
      server.close();
    }
  });
});

describe('output checks', () => {
  it('accept what can be written, and create nothing', async () => {
    await checkOutputFolder(join(folder, 'new', 'deep'));
    expect(readdirSync(folder)).toEqual([]);
    await checkOutputFolder(folder);
    await checkOutputFile(join(folder, 'r.json'));
    expect(readdirSync(folder)).toEqual([]);
    writeFileSync(join(folder, 'old.json'), 'old');
    symlinkSync(join(folder, 'old.json'), join(folder, 'link'));
    for (const name of ['old.json', 'link']) await checkOutputFile(join(folder, name));
    await checkOutputFile('/dev/null');
    expect(readdirSync(folder).sort()).toEqual(['link', 'old.json']);
    expect(readFileSync(join(folder, 'old.json'), 'utf8')).toBe('old');
  });

  it('refuse what can not', async () => {
    writeFileSync(join(folder, 'file'), '');
    await expect(checkOutputFolder(join(folder, 'file'))).rejects.toMatchObject({ code: 'ERR_OUTPUT' });
    await expect(checkOutputFile(join(folder, 'none', 'r.json'))).rejects.toMatchObject({ code: 'ERR_OUTPUT' });
    await expect(checkOutputFile(folder)).rejects.toMatchObject({ code: 'ERR_OUTPUT' });
    for (const path of ['/proc/x', '/proc/x/y', join(folder, 'file', 'x')]) {
      await expect(checkOutputFolder(path)).rejects.toMatchObject({ code: 'ERR_OUTPUT' });
    }
    await expect(checkOutputFolder('/proc')).rejects.toMatchObject({
      code: 'ERR_OUTPUT',
      message: expect.stringMatching(/^Nothing can be written into the directory \/proc \(E\w+: [a-z ]+\); \S.*\.$/),
    });
    await expect(checkOutputFile('/proc/r.json')).rejects.toMatchObject({
      code: 'ERR_OUTPUT',
      message: expect.stringMatching(/^\/proc\/r\.json can't be written \(E\w+: [a-z ]+\); \S.*\.$/),
    });
  });
});

describe('writeWhole', () => {
  it('replaces a file and leaves nothing else', async () => {
    const path = join(folder, 'r.json');
    writeFileSync(path, 'old');
    await writeWhole(path, 'new');
    expect(readFileSync(path, 'utf8')).toBe('new');
    expect(readdirSync(folder)).toEqual(['r.json']);
  });

  it('follows a link', async () => {
    const [path, link] = [join(folder, 'r.json'), join(folder, 'link')];
    writeFileSync(path, 'old');
    symlinkSync(path, link);
    await writeWhole(link, 'new');
    expect(readFileSync(path, 'utf8')).toBe('new');
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
  });

  it('writes into a pipe instead of replacing it', async () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const [read] = await Promise.all([readFile(pipe, 'utf8'), writeWhole(pipe, 'new')]);
    expect(read).toBe('new');
    expect(lstatSync(pipe).isFIFO()).toBe(true);
  });

  it('leaves nothing behind when it fails', async () => {
    mkdirSync(join(folder, 'taken', 'x'), { recursive: true });
    await expect(writeWhole(join(folder, 'taken'), 'new')).rejects.toMatchObject({ code: 'ERR_OUTPUT' });
    await expect(writeWhole(join(folder, 'none', 'r'), 'new')).rejects.toMatchObject({ code: 'ERR_OUTPUT' });
    expect(readdirSync(folder)).toEqual(['taken']);
  });

  it('names the file that was asked for when it fails, and what helps', async () => {
    await expect(writeWhole('/proc/r.json', 'new')).rejects.toMatchObject({
      message: expect.stringMatching(/^\/proc\/r\.json can't be written \(E\w+: [a-z ]+\); choose another place\.$/),
    });
    const error = await writeWhole('/dev/full', 'new').catch((thrown: unknown) => thrown);
    expect((error as Error).message).toBe(
      "/dev/full can't be written (ENOSPC: no space left on device); free some space there or choose another place.",
    );
  });
});

describe('OutputNames', () => {
  it('names by the stem and never twice', async () => {
    const names = await OutputNames.create(folder, ['x/a.jpg', 'y/a.png']);
    expect(names.next('x/a.jpg')).toBe(join(folder, 'a.annotated.jpg'));
    expect(names.next('y/a.png')).toBe(join(folder, 'a-2.annotated.jpg'));
  });

  it('never gives an input, whatever path leads to it', async () => {
    writeFileSync(join(folder, 'a.jpg'), '');
    writeFileSync(join(folder, 'a.annotated.jpg'), '');
    symlinkSync(folder, join(folder, 'link'));
    const names = await OutputNames.create(folder, [join(folder, 'a.jpg'), join(folder, 'link', 'a.annotated.jpg')]);
    expect(names.next(join(folder, 'a.jpg'))).toBe(join(folder, 'a-2.annotated.jpg'));
    expect(existsSync(join(folder, 'a-2.annotated.jpg'))).toBe(false);
  });
});
