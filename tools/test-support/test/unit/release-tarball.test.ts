import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { repositoryRoot } from '../../src/index.js';

const load = (name: string): Promise<unknown> => import(join(repositoryRoot, 'scripts', 'release', name));

describe('the check of a tarball', () => {
  interface Tarball {
    packedBytes: number;
    files: Map<string, Buffer>;
    manifest: Record<string, unknown>;
  }
  type Problems = (one: object, tarball: Tarball, clone: { licence: Buffer; root: string }) => string[];

  const x64 = 'native/prebuilds/linux-x64/addon.node';
  const budget = { packedBytes: 1000, files: ['dist/index.js', x64] };

  /** The head of a binary: 62 is x86-64, 183 AArch64. */
  function elf(machine: number): Buffer {
    const header = Buffer.alloc(64);
    header.write('\x7fELF', 'latin1');
    header.writeUInt16LE(machine, 18);
    return header;
  }

  async function problems(change: (tarball: Tarball) => void = () => undefined): Promise<string[]> {
    const { tarballProblems } = (await load('tarball-check.mjs')) as { tarballProblems: Problems };
    const tarball = {
      packedBytes: 1000,
      files: new Map([
        ['LICENSE', Buffer.from('the licence')],
        ['NOTICE', Buffer.from('Zerohop\nCopyright 2026 The Zerohop authors\n')],
        ['dist/index.js', Buffer.from('export {};')],
        [x64, elf(62)],
      ]),
      manifest: {
        license: 'Apache-2.0',
        repository: { directory: 'packages/a' },
        scripts: { build: 'tsup' },
        dependencies: { b: '^1.0.0' },
      },
    };
    change(tarball);
    const one = { name: '@zerohop/a', budget, directory: 'packages/a' };
    return tarballProblems(one, tarball, { licence: Buffer.from('the licence'), root: '/home/somebody/clone' });
  }

  test('finds nothing wrong with a good one', async () => {
    expect(await problems()).toEqual([]);
  });

  test.each<{ what: string; change: (tarball: Tarball) => void; says: RegExp }>([
    {
      what: 'a range that only the workspace understands',
      change: ({ manifest }) => Object.assign(manifest, { peerDependencies: { c: 'workspace:^' } }),
      says: /^peerDependencies has "c": "workspace:\^"/,
    },
    {
      what: 'a script that runs at an install',
      change: ({ manifest }) => Object.assign(manifest, { scripts: { postinstall: 'node x.js' } }),
      says: /^The script "postinstall" runs/,
    },
    {
      what: 'another licence in the manifest',
      change: ({ manifest }) => Object.assign(manifest, { license: 'MIT' }),
      says: /^"license" is MIT/,
    },
    {
      what: 'another folder in the manifest',
      change: ({ manifest }) => Object.assign(manifest, { repository: { directory: 'packages/b' } }),
      says: /^"repository.directory" must be "packages\/a"/,
    },
    { what: 'no LICENSE', change: ({ files }) => files.delete('LICENSE'), says: /^LICENSE is not the root's/ },
    { what: 'no NOTICE', change: ({ files }) => files.delete('NOTICE'), says: /^NOTICE is missing/ },
    {
      what: 'a missing prebuild',
      change: ({ files }) => files.delete(x64),
      says: /^native\/prebuilds\/linux-x64\/addon.node is not in the tarball/,
    },
    {
      what: 'a prebuild for another machine',
      change: ({ files }) => files.set(x64, elf(183)),
      says: /addon.node is no binary for x64 \(ELF machine 183\)/,
    },
    {
      what: 'a binary that is not declared',
      change: ({ files }) => files.set('native/prebuilds/linux-arm64/old.node', elf(183)),
      says: /old.node is a binary that nobody asked for/,
    },
    {
      what: 'a file that makes package managers compile',
      change: ({ files }) => files.set('binding.gyp', Buffer.from('{}')),
      says: /^binding.gyp makes package managers compile/,
    },
    {
      what: 'a path of the machine',
      change: ({ files }) => files.set('dist/index.js.map', Buffer.from('"/home/somebody/clone/packages/a/src"')),
      says: /^dist\/index.js.map names a folder of this machine/,
    },
    {
      what: 'a size over the budget',
      change: (tarball) => Object.assign(tarball, { packedBytes: 1001 }),
      says: /^It is 1\.0 kB packed, 1\.0 kB are allowed/,
    },
  ])('finds $what', async ({ change, says }) => {
    expect(await problems(change)).toEqual([expect.stringMatching(says)]);
  });
});
