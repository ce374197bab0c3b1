import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, tools } from '../setup/paths.mjs';
import { failOn } from './problems.mjs';
import { run } from './run.mjs';

/**
 * What is wrong with the licences of installed packages.
 *
 * @param {Record<string, { name: string, versions: string[] }[]>} found by licence, as `pnpm licenses` prints it
 * @param {{ licences: string[], packages: Record<string, { licence: string, why: string }> }} allowed `packages` are those that
 *   may have a licence that is not in general allowed; a name may end in `*`
 * @returns {string[]}
 */
export function licenceProblems(found, allowed) {
  const exception = (name, licence) =>
    Object.entries(allowed.packages).some(
      ([pattern, one]) =>
        one.licence === licence && (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern),
    );
  return Object.entries(found)
    .filter(([licence]) => !allowed.licences.includes(licence))
    .flatMap(([licence, packages]) =>
      packages
        .filter(({ name }) => !exception(name, licence))
        .map(
          ({ name, versions }) =>
            `${name}@${versions.join(', ')} is under "${licence}", which scripts/release/licences.json does not allow: read it, then ` +
            'do without the package, or allow the licence there, or this package with a reason.',
        ),
    );
}

/**
 * Checks the licences of everything that came along, in a project that pnpm installed. Not `--prod`: it leaves out what an
 * optional dependency brings, as the libvips of sharp.
 */
export async function checkLicences(project) {
  const { ok, status, stdout, stderr } = await run(join(tools, 'pnpm'), ['licenses', 'list', '--json'], {
    cwd: project.folder,
    env: project.env,
  });
  failOn(ok ? [] : [`pnpm licenses ${status}: ${stderr}`]);
  const found = JSON.parse(stdout);
  const licences = Object.keys(found);
  failOn(licences.length > 0 ? [] : ['pnpm licenses lists nothing: it looked at the wrong folder.']);
  failOn(licenceProblems(found, JSON.parse(readFileSync(join(root, 'scripts', 'release', 'licences.json'), 'utf8'))));
  return licences.sort().join(', ');
}
