/** Scripts that a package manager runs at an install, and those that it runs for a package taken from git. */
const LIFECYCLE = ['preinstall', 'install', 'postinstall', 'preprepare', 'prepare', 'postprepare', 'prepublish'];
const DEPENDENCIES = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'];
/** What only a package manager inside the workspace understands. */
const INNER = /^(workspace|catalog|link|file|portal):/;
const ELF = Buffer.from('\x7fELF', 'latin1');
/** e_machine of each architecture in the name of a folder of prebuilds. */
const MACHINES = { x64: 62, arm64: 183 };

export const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

function manifestProblems({ name, manifest, directory }) {
  const inner = DEPENDENCIES.flatMap((kind) =>
    Object.entries(manifest[kind] ?? {})
      .filter(([, range]) => INNER.test(range))
      .map(
        ([dependency, range]) =>
          `${kind} has "${dependency}": "${range}", which means nothing outside of the workspace: pack it by pnpm.`,
      ),
  );
  const scripts = LIFECYCLE.filter((script) => Object.hasOwn(manifest.scripts ?? {}, script)).map(
    (script) => `The script "${script}" runs when ${name} is installed: rename it, or build before packing.`,
  );
  return [
    ...inner,
    ...scripts,
    ...(manifest.license === 'Apache-2.0' ? [] : [`"license" is ${manifest.license}: it must be Apache-2.0.`]),
    // A registry refuses provenance when it can't find the package there.
    ...(manifest.repository?.directory === directory ? [] : [`"repository.directory" must be "${directory}".`]),
  ];
}

function licenceProblems(files, licence) {
  return [
    ...(files.get('LICENSE')?.equals(licence)
      ? []
      : ["LICENSE is not the root's: pnpm pack copies it when it is there."]),
    ...(/^Zerohop\nCopyright \d{4} The Zerohop authors\n/.test(files.get('NOTICE') ?? '')
      ? []
      : ['NOTICE is missing or does not begin with the lines of the others: list it in "files".']),
  ];
}

/** The architecture of a prebuild by the name of its folder, against its header. */
function machineProblem(path, content) {
  const architecture = /(?:^|\/)linux-(\w+)\//.exec(path)?.[1];
  if (architecture === undefined || content.readUInt16LE(18) === MACHINES[architecture]) return undefined;
  return `${path} is no binary for ${architecture} (ELF machine ${content.readUInt16LE(18)}): build it again.`;
}

function binaryProblems(files, declared) {
  return [...files].flatMap(([path, content]) => {
    if (!content.subarray(0, 4).equals(ELF)) return [];
    if (!declared.includes(path)) {
      return [
        `${path} is a binary that nobody asked for, perhaps of an old build: remove it, or declare it in the budgets.`,
      ];
    }
    return machineProblem(path, content) ?? [];
  });
}

/**
 * What is wrong with a tarball.
 *
 * @param {{ name: string, budget: Pick<import('./workspace.mjs').Budget, 'packedBytes' | 'files'>, directory: string }} one
 *   `directory` is that of the package in the clone
 * @param {Pick<import('./tarball.mjs').Tarball, 'packedBytes' | 'files' | 'manifest'>} tarball
 * @param {{ licence: Buffer, root: string }} clone
 * @returns {string[]}
 */
export function tarballProblems({ name, budget, directory }, { packedBytes, files, manifest }, { licence, root }) {
  const paths = [...files.keys()];
  return [
    ...manifestProblems({ name, manifest, directory }),
    ...licenceProblems(files, licence),
    ...budget.files
      .filter((path) => !files.has(path))
      .map((path) => `${path} is not in the tarball: build it, and see "files" in package.json.`),
    ...paths
      .filter((path) => /\.gypi?$/.test(path))
      .map((path) => `${path} makes package managers compile: keep it out of "files".`),
    ...binaryProblems(files, budget.files),
    ...paths
      .filter((path) => files.get(path).includes(root))
      .map((path) => `${path} names a folder of this machine, ${root}: build it so that it does not.`),
    ...(packedBytes <= budget.packedBytes
      ? []
      : [
          `It is ${kilobytes(packedBytes)} packed, ${kilobytes(budget.packedBytes)} are allowed: see what became larger, ` +
            'or raise packedBytes in scripts/release/budgets.json.',
        ]),
  ];
}
