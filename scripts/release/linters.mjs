import { failOn } from './problems.mjs';
import { run } from './run.mjs';
import { toolProgram } from './tools.mjs';

const publintProgram = toolProgram('publint', 'src/cli.js');
const attwProgram = toolProgram('@arethetypeswrong/cli', 'dist/index.js');

/** Whether `import` of the package's name leads anywhere: a package may be only a command. */
export const isImportable = (manifest) => manifest.exports !== undefined || manifest.main !== undefined;

/** publint on the tarball; warnings count. */
export async function publint({ archive }, cwd) {
  const { ok, stdout, stderr } = await run(process.execPath, [publintProgram, 'run', archive, '--strict'], { cwd });
  failOn(ok ? [] : [`publint --strict, on the tarball:\n${stdout}${stderr}`]);
  return 'nothing to say';
}

/** attw on the tarball, for packages that are ESM alone; a package whose types it does not see fails. */
export async function attw({ archive, manifest }, cwd) {
  if (!isImportable(manifest)) return 'a command, nothing to import';
  const options = ['--profile', 'esm-only', '--no-definitely-typed', '--format', 'ascii', '--no-emoji', '--no-color'];
  const { ok, stdout, stderr } = await run(process.execPath, [attwProgram, archive, ...options], { cwd });
  // Without types attw says so and ends well.
  const typed = !/does not contain types/.test(stdout);
  failOn(ok && typed ? [] : [`attw --profile esm-only, on the tarball:\n${stdout}${stderr}`]);
  return 'resolves as ESM under node16 and bundler';
}
