import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { repositoryRoot } from '../../src/index.js';

const load = (path: string): Promise<unknown> => import(join(repositoryRoot, 'scripts', path));

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-scripts-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('the digest of a part for the GPU machine', () => {
  function tree(change: (folder: string) => void = () => undefined): string {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'a'));
    writeFileSync(join(folder, 'a', 'file'), 'content');
    symlinkSync('a/file', join(folder, 'link'));
    change(folder);
    return folder;
  }

  test('is that of the contents', async () => {
    const { digest } = (await load('gpu/digest.mjs')) as { digest(folder: string): string };
    expect(digest(tree())).toBe(digest(tree()));
  });

  test.each<{ name: string; change: (folder: string) => void }>([
    {
      name: 'the target of a link',
      change: (folder) => {
        rmSync(join(folder, 'link'));
        symlinkSync('a/other', join(folder, 'link'));
      },
    },
    { name: 'a content', change: (folder) => writeFileSync(join(folder, 'a', 'file'), 'another') },
    { name: 'an empty folder', change: (folder) => mkdirSync(join(folder, 'b')) },
    {
      name: 'a link in place of a file of its target’s name',
      change: (folder) => {
        rmSync(join(folder, 'link'));
        writeFileSync(join(folder, 'link'), 'a/file');
      },
    },
  ])('changes with $name', async ({ change }) => {
    const { digest } = (await load('gpu/digest.mjs')) as { digest(folder: string): string };
    expect(digest(tree(change))).not.toBe(digest(tree()));
  });
});

describe('the type check of README examples', () => {
  interface Errors {
    ofFile: Map<string, string[]>;
    others: string[];
  }
  type TypeErrors = (paths: string[], options?: object) => Errors;

  function example(code: string): string {
    const path = join(temporaryFolder(), 'example.mts');
    writeFileSync(path, code);
    return path;
  }

  test('tells the line of an error', async () => {
    const { typeErrors } = (await load('readme/type-errors.mjs')) as { typeErrors: TypeErrors };
    const good = example('export const n: number = process.pid;\n');
    const bad = example('\nexport const s: string = 1;\n');
    const { ofFile, others } = typeErrors([good, bad]);
    expect(others).toEqual([]);
    expect([...ofFile]).toEqual([[bad, [expect.stringMatching(/^line 2: Type 'number' is not assignable/)]]]);
  });

  test('does not drop an error that is in no file', async () => {
    const { typeErrors } = (await load('readme/type-errors.mjs')) as { typeErrors: TypeErrors };
    const { others } = typeErrors([example('export const n = 1;\n')], { types: ['no-such-types'] });
    expect(others).toEqual([expect.stringContaining('no-such-types')]);
  });
});

describe('npm test', () => {
  const program = join(repositoryRoot, 'scripts', 'test.mjs');

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends the tier in progress, and no other begins', async (signal, status) => {
    const child = spawn(process.execPath, [program, 'lint', 'size'], { stdio: ['ignore', 'pipe', 'ignore'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    let said = '';
    child.stdout.on('data', (text: Buffer) => {
      said += text.toString();
      if (said.includes('=== lint')) child.kill(signal);
    });
    expect(await once(child, 'close')).toEqual([status, null]);
    expect(said).not.toContain('=== size');
    expect(said).not.toMatch(/\d+ passed/);
  });

  test('ends with one line of counts', () => {
    const { status, stdout } = spawnSync(process.execPath, [program, 'size'], { encoding: 'utf8' });
    expect(status).toBe(0);
    expect(stdout).toMatch(/\n1 passed, 0 failed, 0 skipped\n$/);
  });
});

describe('what npm test sets up', () => {
  interface Tiers {
    TIER_NEEDS: Record<string, string[]>;
    needsOf(command: string, args: string[]): Set<string>;
  }

  test('is told for every tier there is', async () => {
    const { TIER_NEEDS } = (await load('setup/tiers.mjs')) as Tiers;
    const { stdout } = spawnSync(process.execPath, [join(repositoryRoot, 'scripts', 'test.mjs'), '--list'], {
      encoding: 'utf8',
    });
    expect(stdout.trim().split('\n')).toEqual(Object.keys(TIER_NEEDS));
  });

  test.each([
    { command: 'test', args: ['unit', 'packages/shm-pool'], needs: [] },
    { command: 'test', args: ['host'], needs: ['peers'] },
    { command: 'test', args: ['unit', 'training'], needs: ['server'] },
    { command: 'test', args: ['packages/shm-pool'], needs: ['peers', 'server'] },
    { command: 'test', args: [], needs: ['peers', 'server'] },
    { command: 'demo', args: ['unit'], needs: ['server'] },
    { command: 'triton', args: [], needs: ['server'] },
  ])('$command $args: $needs', async ({ command, args, needs }) => {
    const { needsOf } = (await load('setup/tiers.mjs')) as Tiers;
    expect([...needsOf(command, args)].sort()).toEqual(needs);
  });
});
