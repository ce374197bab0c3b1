import { join } from 'node:path';
import ts from 'typescript';
import { root } from '../setup/paths.mjs';

/** What the examples are checked with: what a careful user has. */
const OPTIONS = {
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts', 'lib.esnext.disposable.d.ts'],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: ['node'],
  typeRoots: [join(root, 'node_modules', '@types')],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
};

/**
 * Type-checks files.
 *
 * @param {string[]} paths absolute
 * @param {import('typescript').CompilerOptions} [options] in place of the usual ones of the same name
 * @returns {{ ofFile: Map<string, string[]>, others: string[] }} `others` belong to none of the files: wrong options, types
 *   that are not there. What was checked then means nothing.
 */
export function typeErrors(paths, options = {}) {
  const program = ts.createProgram(paths, { ...OPTIONS, ...options });
  const ofFile = new Map();
  const others = [];
  for (const { file, start, messageText } of ts.getPreEmitDiagnostics(program)) {
    const text = ts.flattenDiagnosticMessageText(messageText, ' ');
    const place = file === undefined ? '' : `line ${file.getLineAndCharacterOfPosition(start ?? 0).line + 1}: `;
    if (file === undefined) others.push(text);
    else if (paths.includes(file.fileName)) {
      ofFile.set(file.fileName, [...(ofFile.get(file.fileName) ?? []), `${place}${text}`]);
    } else others.push(`${file.fileName}, ${place}${text}`);
  }
  return { ofFile, others };
}
