/**
 * Node's modules that this package uses on import. Not by `import`, which reads every export of theirs and so loads
 * streams, argument parsing and more: that took a third of the time of importing this package.
 */
export const buffer: typeof import('node:buffer') = process.getBuiltinModule('node:buffer');
export const fs: typeof import('node:fs') = process.getBuiltinModule('node:fs');
export const path: typeof import('node:path') = process.getBuiltinModule('node:path');
export const util: typeof import('node:util') = process.getBuiltinModule('node:util');
