/**
 * The fenced blocks of a README that begin with "ts run" or "js run".
 *
 * @param {string} text
 * @returns {{ line: number, language: 'ts' | 'js', code: string }[]}
 */
export function blocksIn(text) {
  const lines = text.split('\n');
  const blocks = [];
  for (let i = 0; i < lines.length; i++) {
    const language = /^```(ts|js) run\b/.exec(lines[i])?.[1];
    if (language === undefined) continue;
    const end = lines.indexOf('```', i + 1);
    if (end === -1) throw new Error(`The block in line ${i + 1} has no end.`);
    // Blank lines before it make the compiler's and node's line numbers those of the README.
    blocks.push({ line: i + 1, language, code: `${'\n'.repeat(i + 1)}${lines.slice(i + 1, end).join('\n')}\n` });
    i = end;
  }
  return blocks;
}
