import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { repositoryRoot } from '../../src/index.js';

const bootstrap = join(repositoryRoot, 'scripts', 'bootstrap.cjs');

/** Runs the bootstrap where PATH leads to nothing but what is given. */
function run(
  args: readonly string[],
  programs: readonly string[] = [],
  env: Record<string, string> = {},
): { status: number | null; stderr: string } {
  const path = mkdtempSync(join(tmpdir(), 'zerohop-path-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  for (const program of programs) symlinkSync('/bin/true', join(path, program));
  return spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: { PATH: path, HOME: path, ...env },
    cwd: repositoryRoot,
  });
}

describe('bootstrap', () => {
  test('parses on the oldest Node: it is ES5', () => {
    const eslint = createRequire(join(repositoryRoot, 'package.json')).resolve('eslint');
    const { parse } = createRequire(eslint)('espree') as {
      parse(code: string, options: { ecmaVersion: 5; sourceType: 'commonjs' }): { type: string };
    };
    const source = readFileSync(bootstrap, 'utf8');
    expect(parse(source, { ecmaVersion: 5, sourceType: 'commonjs' }).type).toBe('Program');
    expect(() => parse('f(1,);', { ecmaVersion: 5, sourceType: 'commonjs' })).toThrow();
  });

  test.each(['0.12.18', '10.24.1', '18.20.8', '20.18.3', '21.7.3', '22.11.0'])(
    'Node %s is told what is needed',
    (version) => {
      const pretend = `
      Object.defineProperty(process.versions, 'node', { value: '${version}' });
      require(${JSON.stringify(bootstrap)});
    `;
      const { status, stderr } = run(['-e', pretend]);
      expect(status).toBe(3);
      expect(stderr).toContain('Zerohop needs Node 20.19, 22.12 or newer');
      expect(stderr).not.toMatch(/^\s+at /m);
    },
  );

  test.each(['20.19.0', '22.12.0', '23.0.0', '26.1.0'])('Node %s goes on', (version) => {
    const pretend = `
      Object.defineProperty(process.versions, 'node', { value: '${version}' });
      require(${JSON.stringify(bootstrap)});
    `;
    const { status, stderr } = run(['-e', pretend, 'no such command']);
    expect(status).toBe(2);
    expect(stderr).toContain('Use: npm run setup');
  });

  test('every package names the versions that the bootstrap takes', () => {
    const manifests = spawnSync('git', ['ls-files', 'package.json', '*/package.json'], {
      encoding: 'utf8',
      cwd: repositoryRoot,
    });
    const files = manifests.stdout.trim().split('\n');
    expect(files.length).toBeGreaterThan(1);
    for (const file of files) {
      const { engines } = JSON.parse(readFileSync(join(repositoryRoot, file), 'utf8'));
      expect({ file, engines }).toEqual({ file, engines: { node: '^20.19 || >=22.12' } });
    }
  });

  test('everything that is missing is named at once, with the command that installs it', () => {
    const { status, stderr } = run([bootstrap, 'demo'], ['apt-get']);
    expect(status).toBe(3);
    expect(stderr).toMatch(/- g\+\+: .*apt-get install -y g\+\+/);
    expect(stderr).toMatch(/- make: .*apt-get install -y make/);
    expect(stderr).toMatch(
      /- Python 3\.9, 3\.10, 3\.11 or 3\.12: .*apt-get install -y python3 python3-venv libpython3/,
    );
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test.each(['/nowhere/python', '/bin/true'])('a ZEROHOP_PYTHON that is none is named: %s', (ZEROHOP_PYTHON) => {
    const { status, stderr } = run([bootstrap, 'demo'], ['apt-get'], { ZEROHOP_PYTHON });
    expect(status).toBe(3);
    expect(stderr).toContain(`ZEROHOP_PYTHON names ${ZEROHOP_PYTHON}, which is no Python that runs`);
  });

  test.each(['"', '$', '`', '\\', ':', ';', '*', '?', '\n'])('a clone in a folder with %j is refused', (character) => {
    const folder = mkdtempSync(join(tmpdir(), `zerohop-${character}-`));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    cpSync(join(repositoryRoot, 'scripts'), join(folder, 'scripts'), { recursive: true });
    const { status, stderr } = run([join(folder, 'scripts', 'bootstrap.cjs'), 'no such command']);
    expect(status).toBe(3);
    expect(stderr).toContain(`: ${folder}\n`);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test('a clone in a folder with any other character is not', () => {
    const folder = mkdtempSync(join(tmpdir(), "zerohop- it's(é)&[b]{c,d}!~@=+^|<e>#%20-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    cpSync(join(repositoryRoot, 'scripts'), join(folder, 'scripts'), { recursive: true });
    const { status, stderr } = run([join(folder, 'scripts', 'bootstrap.cjs'), 'no such command']);
    expect(status).toBe(2);
    expect(stderr).toContain('Use: npm run setup');
  });

  test('the command is the one of the package manager that is there', () => {
    const { stderr } = run([bootstrap, 'demo'], ['dnf', 'make']);
    expect(stderr).toMatch(/- g\+\+: .*dnf install -y gcc-c\+\+/);
    expect(stderr).not.toContain('- make:');
  });

  test('an unknown command is a wrong usage', () => {
    const { status, stderr } = run([bootstrap, 'dmeo']);
    expect(status).toBe(2);
    expect(stderr).toContain('npm run demo');
  });
});
