import type { Options } from 'tsup';

/**
 * esbuild makes `var Stream = class _Stream {…}` of a class that refers to itself, and objects and stacks then print as
 * `_Stream`, which its own option for keeping names does not change in stacks. As long as before, so that source maps
 * stay right: inside the class the name means the class, as in the source.
 */
function withClassNames(code: string): string {
  return Array.from(code.matchAll(/\b([\w$]+) = class (_\1)(?![\w$])/g)).reduce(
    (text, [, name = '', renamed = '']) =>
      text.replace(new RegExp(`(?<![\\w$])${renamed.replaceAll('$', '\\$')}(?![\\w$])`, 'g'), () => `${name} `),
    code,
  );
}

/** What every package builds: ESM only, Node 20, types beside the code. */
export const base: Options = {
  format: ['esm'],
  target: 'node20',
  platform: 'node',
  dts: true,
  sourcemap: true,
  clean: true,
  splitting: true,
  plugins: [
    {
      name: 'class-names',
      renderChunk: (code, { type }) => (type === 'chunk' ? { code: withClassNames(code) } : undefined),
    },
  ],
};
