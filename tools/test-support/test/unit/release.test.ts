import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { repositoryRoot } from '../../src/index.js';

const load = (name: string): Promise<unknown> => import(join(repositoryRoot, 'scripts', 'release', name));

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-release-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function write(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

describe('the budgets', () => {
  interface Workspace {
    unmatched(names: string[], budgets: object): string[];
    allInstalls(name: string, budgets: object): string[];
  }

  test('must be those of the published packages', async () => {
    const { unmatched } = (await load('workspace.mjs')) as Workspace;
    expect(unmatched(['a'], { a: {} })).toEqual([]);
    expect(unmatched(['a', 'b'], { a: {}, c: {} })).toEqual([
      expect.stringMatching(/^b has no budget/),
      expect.stringMatching(/names c, which is no published package/),
    ]);
  });

  test('allow what the packages among them allow', async () => {
    const { allInstalls } = (await load('workspace.mjs')) as Workspace;
    const budgets = { a: { installs: ['b', 'x'] }, b: { installs: ['y', 'a'] }, c: { installs: ['z'] } };
    expect(allInstalls('a', budgets).sort()).toEqual(['a', 'b', 'x', 'y']);
  });
});

describe('what an install brought', () => {
  interface Installed {
    name: string;
    version: string;
    bytes: number;
  }
  interface Module {
    installedIn(folder: string): Installed[];
    installProblems(name: string, budget: object, installed: Installed[]): string[];
  }
  const manifest = (name: string) => JSON.stringify({ name, version: '1.0.0' });

  test('is found in the layout of npm, nested packages too', async () => {
    const { installedIn } = (await load('installed.mjs')) as Module;
    const folder = temporaryFolder();
    write(folder, 'node_modules/@scope/a/package.json', manifest('@scope/a'));
    write(folder, 'node_modules/@scope/a/dist/index.js', '12345');
    write(folder, 'node_modules/@scope/a/node_modules/b/package.json', manifest('b'));
    write(folder, 'node_modules/.bin/c', 'no package');
    expect(installedIn(folder)).toEqual([
      { name: '@scope/a', version: '1.0.0', bytes: manifest('@scope/a').length + 5 },
      { name: 'b', version: '1.0.0', bytes: manifest('b').length },
    ]);
  });

  test('is found in the layout of pnpm, each once', async () => {
    const { installedIn } = (await load('installed.mjs')) as Module;
    const folder = temporaryFolder();
    write(folder, 'node_modules/.pnpm/a@1.0.0/node_modules/a/package.json', manifest('a'));
    write(folder, 'node_modules/.pnpm/b@1.0.0/node_modules/b/package.json', manifest('b'));
    write(folder, 'node_modules/.pnpm/lock.yaml', 'no package');
    symlinkSync('../../b@1.0.0/node_modules/b', join(folder, 'node_modules/.pnpm/a@1.0.0/node_modules/b'));
    symlinkSync('.pnpm/a@1.0.0/node_modules/a', join(folder, 'node_modules/a'));
    expect(installedIn(folder).map(({ name }) => name)).toEqual(['a', 'b']);
  });

  test.each<{ what: string; installed: [string, number][]; says: RegExp[] }>([
    {
      what: 'is right',
      installed: [
        ['a', 50],
        ['@img/sharp-x', 50],
      ],
      says: [],
    },
    {
      what: 'misses the package itself',
      installed: [['@img/sharp-x', 1]],
      says: [/^a itself was not installed/],
    },
    {
      what: 'has one too many',
      installed: [
        ['a', 1],
        ['@img/sharp-x', 1],
        ['evil', 1],
      ],
      says: [/^evil came along/],
    },
    { what: 'has one too few', installed: [['a', 1]], says: [/^@img\/sharp-\* did not come along/] },
    {
      what: 'is too large',
      installed: [
        ['a', 100],
        ['@img/sharp-x', 1],
      ],
      says: [/were installed/],
    },
  ])('$what', async ({ installed, says }) => {
    const { installProblems } = (await load('installed.mjs')) as Module;
    const all = installed.map(([name, bytes]) => ({ name, version: '1.0.0', bytes }));
    const found = installProblems('a', { installs: ['@img/sharp-*'], installedBytes: 100 }, all);
    expect(found).toEqual(says.map((text) => expect.stringMatching(text)));
  });
});

test('a licence is allowed in general, or to a package', async () => {
  const { licenceProblems } = (await load('licences.mjs')) as {
    licenceProblems(found: object, allowed: object): string[];
  };
  const one = (name: string) => [{ name, versions: ['1.0.0'] }];
  const allowed = { licences: ['MIT'], packages: { 'lib-*': { licence: 'LGPL-3.0', why: 'shared' } } };
  expect(licenceProblems({ MIT: one('a'), 'LGPL-3.0': one('lib-b') }, allowed)).toEqual([]);
  const problems = licenceProblems({ Unknown: one('lib-b'), 'LGPL-3.0': one('c') }, allowed);
  expect(problems).toEqual([
    expect.stringMatching(/^lib-b@1.0.0 is under "Unknown"/),
    expect.stringMatching(/^c@1.0.0 is under "LGPL-3.0"/),
  ]);
});

describe('the examples of a README', () => {
  interface Module {
    examplesOf(readme: string): { line: number; file: string; code: string; needsServer: boolean }[];
    besides(name: string, examples: { code: string }[], packages: object[]): { ours: object[]; others: string[] };
    writeExamples(project: object, examples: object[], manifest: object, directory: string): void;
  }
  const fence = '```';

  test('are its blocks marked "run", on the lines they have there', async () => {
    const { examplesOf } = (await load('examples.mjs')) as Module;
    const readme = `# a\n${fence}js run\nprocess.env.TRITON_URL;\n${fence}\n${fence}ts\nno();\n${fence}\n${fence}ts run\n1;\n${fence}\n`;
    expect(examplesOf(readme)).toMatchObject([
      { line: 2, file: 'readme-2.mjs', code: '\n\nprocess.env.TRITON_URL;\n', needsServer: true },
      { line: 8, file: 'readme-8.mts', needsServer: false },
    ]);
    expect(() => examplesOf(`${fence}js run\n1;\n`)).toThrow('has no end');
  });

  test('are given the packages they import, with what these may use', async () => {
    const { besides } = (await load('examples.mjs')) as Module;
    const peers = {
      peerDependencies: { sharp: '^1.0.0', c: '^2.0.0' },
      peerDependenciesMeta: { sharp: { optional: true } },
    };
    const a = { name: '@zerohop/a', manifest: {} };
    const b = { name: '@zerohop/b', manifest: peers };
    const c = { name: '@zerohop/c', manifest: peers };
    const code = "import { x } from '@zerohop/b/sub';\nimport { y } from '@zerohop/a';\nimport 'node:fs';\n";
    expect(besides('@zerohop/a', [{ code }], [a, b, c])).toEqual({ ours: [b], others: ['sharp@^1.0.0'] });
    expect(besides('@zerohop/a', [{ code: '' }], [a, b, c])).toEqual({ ours: [], others: [] });
  });

  test('run the installed command, and nothing else of the package in the clone', async () => {
    const { writeExamples } = (await load('examples.mjs')) as Module;
    const written = new Map<string, string>();
    const project = { folder: '/project', write: (name: string, text: string) => written.set(name, text) };
    const manifest = { name: 'a', bin: { a: './dist/main.js' } };
    writeExamples(project, [{ file: 'x', code: "run('apps/a/dist/main.js')" }], manifest, 'apps/a');
    expect(written.get('x')).toBe("run('/project/node_modules/a/dist/main.js')");
    const other = [{ file: 'y', code: "run('apps/a/src/main.js')" }];
    expect(() => writeExamples(project, other, manifest, 'apps/a')).toThrow('y uses apps/a, which no user has');
  });
});

describe('a program that a check runs', () => {
  interface Result {
    ok: boolean;
    status: string;
    stdout: string;
    stderr: string;
  }
  type Run = (program: string, args: string[], options: { cwd: string; timeoutMs?: number }) => Promise<Result>;

  test('is told by its status and by what it says', async () => {
    const { run } = (await load('run.mjs')) as { run: Run };
    const result = await run('sh', ['-c', 'echo out; echo err >&2; exit 3'], { cwd: tmpdir() });
    expect(result).toEqual({ ok: false, status: 'ended with 3', stdout: 'out\n', stderr: 'err\n' });
    expect(await run('true', [], { cwd: tmpdir() })).toMatchObject({ ok: true });
  });

  test('is ended with all that it has started when it takes too long', async () => {
    const { run } = (await load('run.mjs')) as { run: Run };
    const script = 'sleep 600 & echo $!; wait';
    const { ok, status, stdout } = await run('sh', ['-c', script], { cwd: tmpdir(), timeoutMs: 1000 });
    expect({ ok, status }).toEqual({ ok: false, status: 'did not end within 1 s' });
    expect(stdout).toMatch(/^\d+\n$/);
    // What was killed stays as a zombie until the first process of the machine has noticed.
    const gone = () => !existsSync(`/proc/${Number(stdout)}/exe`);
    await expect.poll(gone).toBe(true);
  });
});

test('a folder above a project that would lend it packages is found', async () => {
  const { lentBy } = (await load('project.mjs')) as { lentBy(folder: string): string | undefined };
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'a', 'b'), { recursive: true });
  expect(lentBy(join(folder, 'a', 'b'))).toBeUndefined();
  mkdirSync(join(folder, 'node_modules'));
  expect(lentBy(join(folder, 'a', 'b'))).toBe(join(folder, 'node_modules'));
});

test('the names under which a package can be imported are those of its exports', async () => {
  const { entriesOf } = (await load('imports.mjs')) as { entriesOf(manifest: object): object };
  const exports = { '.': {}, './sub': {}, './package.json': './package.json' };
  expect(entriesOf({ name: '@zerohop/a', exports })).toEqual({
    code: ['@zerohop/a', '@zerohop/a/sub'],
    json: ['@zerohop/a/package.json'],
  });
});

test('a check that throws anything counts as failed, and the report fails', async () => {
  const { Report } = (await load('report.mjs')) as { Report: new () => ReportType };
  interface ReportType {
    passed: number;
    failed: number;
    skipped: number;
    check(name: string, what: string, check: () => unknown): Promise<unknown>;
  }
  const report = new Report();
  expect(await report.check('a', 'good', () => 'fine')).toBe('fine');
  const bad = () => {
    throw new TypeError('bad');
  };
  expect(await report.check('a', 'bad', bad)).toBeUndefined();
  expect(report).toMatchObject({
    passed: 1,
    failed: 1,
    skipped: 0,
    failures: [expect.stringMatching(/^a: bad\nTypeError: bad/)],
  });
});
