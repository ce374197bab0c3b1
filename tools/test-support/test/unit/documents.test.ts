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

/** Links to the repository's own files and folders on its host, as paths. */
function hosted(text: string): string[] {
  return [...text.matchAll(/https:\/\/github\.com\/zerohop\/zerohop\/(?:blob|tree)\/main\/([^)#\s]+)/g)].map(
    (match) => match[1] ?? '',
  );
}

test.each(documents)('the links of %s to files of the repository lead somewhere', (file) => {
  const dead = hosted(read(file)).filter((path) => !existsSync(join(repositoryRoot, path)));
  expect(dead).toEqual([]);
});

/** npm shows the README alone, and the tarball has none of the files beside the package. */
test.each(documents.filter((file) => /^(?:packages|apps)\/[^/]+\/README\.md$/.test(file)))(
  '%s links to nothing outside of its package by a path',
  (file) => {
    expect(links(read(file)).filter((target) => target.startsWith('..'))).toEqual([]);
  },
);

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
