import { failOn } from './problems.mjs';
import { run } from './run.mjs';
import { toolProgram } from './tools.mjs';

const COMPILERS = {
  oldest: toolProgram('typescript-oldest', 'bin/tsc'),
  current: toolProgram('typescript-current', 'bin/tsc'),
};

const RESOLUTIONS = {
  nodenext: { module: 'NodeNext', moduleResolution: 'NodeNext' },
  bundler: { module: 'ESNext', moduleResolution: 'Bundler' },
};

/** What the READMEs tell users of TypeScript to have, and nothing that hides a fault in our types. */
const OPTIONS = {
  target: 'ES2022',
  lib: ['ES2022', 'ESNext.Disposable'],
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  noEmit: true,
};

/** A module that needs the types of every entry. */
export function moduleOf(entries) {
  return entries.map((entry, i) => `import * as entry${i} from '${entry}';\nexport { entry${i} };\n`).join('');
}

/**
 * Compiles files of a project with the oldest and the current TypeScript.
 *
 * @param {import('./project.mjs').Project} project with @types/node
 * @param {string[]} files by their names in it
 * @param {(keyof typeof RESOLUTIONS)[]} resolutions
 */
export async function compile(project, files, resolutions) {
  const problems = [];
  for (const resolution of resolutions) {
    const config = `tsconfig.${resolution}.json`;
    project.write(config, JSON.stringify({ compilerOptions: { ...OPTIONS, ...RESOLUTIONS[resolution] }, files }));
    for (const [age, compiler] of Object.entries(COMPILERS)) {
      const { ok, stdout, stderr } = await run(process.execPath, [compiler, '-p', config], { cwd: project.folder });
      if (!ok) problems.push(`The ${age} TypeScript, ${resolution}:\n${stdout}${stderr}`.trimEnd());
    }
  }
  failOn(problems);
  return `${Object.keys(COMPILERS).join(' and ')} TypeScript, ${resolutions.join(' and ')}`;
}
