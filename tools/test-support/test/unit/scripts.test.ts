import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
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

describe('a Node to test with', () => {
  interface Nodes {
    fetchNode(
      node: { package: string; version: string; integrity: string },
      folder: string,
      log: { run(program: string, args: string[]): Promise<void> },
      npm: string[],
    ): Promise<void>;
  }

  /** An npm whose only package is a Node of one line, and that package's digest. */
  function registry(): { npm: string[]; integrity: string } {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'package', 'bin'), { recursive: true });
    writeFileSync(join(folder, 'package', 'bin', 'node'), '#!/bin/sh\n', { mode: 0o755 });
    writeFileSync(join(folder, 'package', 'LICENSE'), 'free');
    const archive = join(folder, 'any.tgz');
    spawnSync('tar', ['-czf', archive, '-C', folder, 'package']);
    const npm = join(folder, 'npm');
    writeFileSync(npm, `#!/bin/sh\ncp '${archive}' "$5/node-any-1.2.3.tgz"\n`, { mode: 0o755 });
    return {
      npm: [npm, 'unused'],
      integrity: `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`,
    };
  }

  const log = {
    run(program: string, args: string[]): Promise<void> {
      const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
      return status === 0 ? Promise.resolve() : Promise.reject(new Error(stderr));
    },
  };
  const node = { package: 'node-any', version: '1.2.3' };

  test('is unpacked, and nothing else stays', async () => {
    const { fetchNode } = (await load('setup/nodes.mjs')) as Nodes;
    const { npm, integrity } = registry();
    const folder = join(temporaryFolder(), 'any');
    await fetchNode({ ...node, integrity }, folder, log, npm);
    expect(readdirSync(folder).sort()).toEqual(['LICENSE', 'bin']);
    expect(readdirSync(dirname(folder))).toEqual(['any']);
  });

  test('is refused when it is not the pinned one, and the one that was there stays', async () => {
    const { fetchNode } = (await load('setup/nodes.mjs')) as Nodes;
    const { npm } = registry();
    const folder = join(temporaryFolder(), 'any');
    mkdirSync(folder);
    const wrong = fetchNode({ ...node, integrity: 'sha512-other' }, folder, log, npm);
    await expect(wrong).rejects.toThrow('node-any@1.2.3 is not what it was');
    expect(readdirSync(dirname(folder))).toEqual(['any']);
  });
});

describe('what npm test sets up', () => {
  interface Tiers {
    TIER_NEEDS: Record<string, string[]>;
    needsOf(command: string, args: string[]): Set<string>;
  }

  const ALL = ['arm64', 'headers', 'nodes', 'nvcc', 'old-server', 'peers', 'release', 'sanitizers', 'server'];

  test('is told for every tier there is', async () => {
    const { TIER_NEEDS } = (await load('setup/tiers.mjs')) as Tiers;
    const { stdout } = spawnSync(process.execPath, [join(repositoryRoot, 'scripts', 'test.mjs'), '--list'], {
      encoding: 'utf8',
    });
    expect(stdout.trim().split('\n')).toEqual(Object.keys(TIER_NEEDS));
  });

  test.each([
    { command: 'test', args: ['unit', 'packages/shm-pool'], needs: [] },
    { command: 'test', args: ['host'], needs: ['headers', 'nvcc', 'peers'] },
    { command: 'test', args: ['unit', 'training'], needs: ['server'] },
    { command: 'test', args: ['release'], needs: ['nvcc', 'release', 'server'] },
    { command: 'test', args: ['nodes', 'sanitize'], needs: ['nodes', 'sanitizers'] },
    {
      command: 'test',
      args: ['packages/shm-pool'],
      needs: ALL,
    },
    { command: 'test', args: ['triton'], needs: ['old-server', 'peers', 'server'] },
    { command: 'test', args: [], needs: ALL },
    { command: 'demo', args: ['unit'], needs: ['server'] },
    { command: 'triton', args: [], needs: ['server'] },
  ])('$command $args: $needs', async ({ command, args, needs }) => {
    const { needsOf } = (await load('setup/tiers.mjs')) as Tiers;
    expect([...needsOf(command, args)].sort()).toEqual(needs);
  });
});
