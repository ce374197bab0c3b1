import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { repositoryRoot } from '../../src/index.js';

const read = (file: string): string => readFileSync(join(repositoryRoot, file), 'utf8');

function tracked(...patterns: string[]): string[] {
  const { stdout } = spawnSync('git', ['ls-files', ...patterns], { encoding: 'utf8', cwd: repositoryRoot });
  return stdout.trim().split('\n');
}

const documents = tracked('*.md');
/** Folders of packages: a path beside a package's name is often meant from there. */
const packages = tracked('*/package.json').map(dirname);

/** Targets of Markdown links that lead to files. */
function links(text: string): string[] {
  return [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
    .map((match) => match[1] ?? '')
    .filter((target) => !/^[a-z]+:/.test(target));
}

/** What stands in backticks and is a path of the clone: no placeholders, no packages' names, nothing that set-up makes. */
function paths(text: string): string[] {
  return [...text.matchAll(/`([\w.-]+(?:\/[\w.-]*)+)`/g)]
    .map((match) => match[1] ?? '')
    .filter((path) => !/^\.zerohop|(^|\/)(node_modules|dist|test)(\/|$)/.test(path));
}

test.each(documents)('the links of %s lead somewhere', (file) => {
  const dead = links(read(file)).filter((target) => !existsSync(join(repositoryRoot, dirname(file), target)));
  expect(dead).toEqual([]);
});

test.each(['ARCHITECTURE.md', 'CONTRIBUTING.md'])('the paths that %s names are there', (file) => {
  const text = read(file);
  expect(paths(text).length).toBeGreaterThan(5);
  const missing = text.split('\n').flatMap((line) => {
    const named = packages.filter((folder) => {
      const { name } = JSON.parse(read(join(folder, 'package.json')));
      return line.includes(`\`${name}\``) || line.includes(`\`${folder}\``);
    });
    return paths(line).filter((path) => !['', ...named].some((from) => existsSync(join(repositoryRoot, from, path))));
  });
  expect(missing).toEqual([]);
});
