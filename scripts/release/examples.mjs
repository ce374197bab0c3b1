import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { blocksIn } from '../readme/blocks.mjs';
import { toJavaScript } from '../readme/to-javascript.mjs';
import { root } from '../setup/paths.mjs';
import { failOn } from './problems.mjs';

/** @typedef {{ line: number, file: string, language: 'ts' | 'js', code: string, needsServer: boolean }} Example */

/** @returns {Example[]} */
export function examplesOf(readme) {
  return blocksIn(readme).map(({ line, language, code }) => ({
    line,
    file: `readme-${line}.${language === 'ts' ? 'mts' : 'mjs'}`,
    language,
    code,
    needsServer: code.includes('TRITON_URL'),
  }));
}

/** Packages of ours that examples import. */
function importsOf(examples) {
  const found = examples.flatMap(({ code }) =>
    [...code.matchAll(/ from '(@zerohop\/[\w-]+|zerohop)/g)].map(([, name]) => name),
  );
  return [...new Set(found)];
}

/** Optional peers that no example uses, and that are too large to try: onnxruntime-node takes 250 MB. */
const LEFT_OUT = ['onnxruntime-node'];

/**
 * What examples need beside their package: the packages of ours that they import, and the optional peers of all of these,
 * in the versions that they ask for.
 *
 * @template {{ name: string, manifest: object }} T
 * @param {string} name of their package
 * @param {Pick<Example, 'code'>[]} examples
 * @param {T[]} packages of ours
 * @returns {{ ours: T[], others: string[] }}
 */
export function besides(name, examples, packages) {
  const imported = importsOf(examples);
  const ours = packages.filter((one) => one.name !== name && imported.includes(one.name));
  const peers = packages
    .filter((one) => one.name === name || ours.includes(one))
    .flatMap(({ manifest: { peerDependencies = {}, peerDependenciesMeta = {} } }) =>
      Object.entries(peerDependencies).filter(
        ([peer]) => peerDependenciesMeta[peer]?.optional && !LEFT_OUT.includes(peer),
      ),
    );
  return { ours, others: [...new Set(peers.map(([peer, range]) => `${peer}@${range}`))] };
}

/**
 * Writes the examples into the project. One that calls the package's command by its place in the clone gets the installed one.
 *
 * @param {import('./project.mjs').Project} project
 * @param {Example[]} examples
 * @param {{ name: string, bin?: Record<string, string> }} manifest
 * @param {string} directory of the package in the clone
 */
export function writeExamples(project, examples, { name, bin = {} }, directory) {
  for (const { file, code } of examples) {
    const installed = Object.values(bin).reduce(
      (text, program) => text.replaceAll(join(directory, program), join(project.folder, 'node_modules', name, program)),
      code,
    );
    // Any other file of the clone would be tested in place of the tarball's.
    failOn(installed.includes(`${directory}/`) ? [`${file} uses ${directory}, which no user has.`] : []);
    project.write(file, installed);
  }
}

/** Runs an example in the clone's root, where the pictures are that examples name. */
export async function runExample(project, { file, language }, env) {
  let script = file;
  if (language === 'ts') {
    script = file.replace(/\.mts$/, '.out.mjs');
    project.write(script, toJavaScript(project.read(file)));
  }
  const { ok, status, stdout, stderr } = await project.node(script, { cwd: root, env, timeoutMs: 120_000 });
  failOn(ok ? [] : [`node ${script} ${status}:\n${stdout}${stderr}`.trimEnd()]);
}

/** Whether a Triton can be started for the examples, or runs at TRITON_URL. */
export const hasServer = (serverFolder) =>
  Boolean(process.env.TRITON_URL) || existsSync(join(serverFolder, 'bin', 'python3'));
