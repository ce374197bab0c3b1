export { LocalTritonError, type LocalTritonErrorCode } from './errors.js';
export { findTriton, type TritonInstallation, type TritonVersion } from './installation.js';
export type { StartTritonOptions } from './options.js';
export { LocalTriton, type ServerPorts } from './server.js';
export { checkSharedMemory } from './shared-memory.js';
export { startTriton } from './start.js';
