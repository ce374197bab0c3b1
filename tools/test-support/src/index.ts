export { describeTier, type Tier } from './describe-tier.js';
export { descendants, expectNothingLeft, type Snapshot, takeSnapshot } from './leftovers.js';
export {
  cudaHeaders,
  emulatedNode,
  missing,
  type Need,
  nvjpegHeader,
  peersPython,
  withSmallSharedMemory,
} from './needs.js';
export { repositoryRoot } from './repository.js';
export { seeded } from './seeded.js';
export { tied } from './tied.js';
export {
  backendDirectories,
  modelNames,
  modelRepositories,
  privateTriton,
  type SharedTriton,
  sharedTriton,
  testModels,
} from './triton.js';
