import { execFile } from 'node:child_process';

/** As the first line of what node says about code that it can't parse. */
const PLACE = /^(?:file:\/\/)?(?<path>[^\n?]+?)(?:\?[^\n:]*)?:(?<line>\d+)\n/;

/**
 * Where the code of a file can't be parsed, such as `/models/double/1/model.mjs(7)`; a stack tells it of some errors alone,
 * so node is asked. The file alone when the error is in what it imports.
 */
export async function syntaxPlace(file: string, error: SyntaxError): Promise<string> {
  const said = PLACE.test(error.stack ?? '') ? (error.stack ?? '') : await check(file);
  const { path, line } = PLACE.exec(said)?.groups ?? {};
  return path === undefined ? file : `${path}(${line})`;
}

/** What `node --check` complains of; nothing when it can't be run. */
function check(file: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--check', file], (_error, _stdout, stderr) => resolve(stderr));
  });
}
