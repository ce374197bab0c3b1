import { join } from 'node:path';
import { releaseTools } from '../setup/paths.mjs';

/** A file of a package that set-up has put into .zerohop/release. */
export const toolProgram = (name, file) => join(releaseTools, 'node_modules', name, file);
