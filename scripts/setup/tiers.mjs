/** @typedef {'server' | 'old-server' | 'peers' | 'headers' | 'nvcc' | 'release' | 'nodes' | 'arm64' | 'sanitizers'} TierNeed */

/** What each tier of `npm test` needs set up beside the dependencies and the build. */
export const TIER_NEEDS = {
  format: [],
  lint: [],
  types: [],
  size: [],
  unit: [],
  contract: [],
  host: ['peers', 'headers', 'nvcc'],
  driver: [],
  nodes: ['nodes'],
  arm64: ['arm64'],
  sanitize: ['sanitizers'],
  training: ['server'],
  detector: ['server'],
  triton: ['server', 'old-server', 'peers'],
  gpu: ['server', 'peers', 'nvcc'],
  readme: ['server'],
  release: ['server', 'release', 'nvcc'],
};

/** The tiers among the arguments of `npm test`; all when none is named. */
export function tiersIn(args) {
  const named = args.filter((argument) => Object.hasOwn(TIER_NEEDS, argument));
  return named.length > 0 ? named : Object.keys(TIER_NEEDS);
}

/**
 * What a command needs set up beside the dependencies and the build.
 *
 * @param {'setup' | 'demo' | 'test' | 'triton'} command
 * @param {string[]} args
 * @returns {Set<TierNeed>}
 */
export function needsOf(command, args) {
  return new Set(command === 'test' ? tiersIn(args).flatMap((tier) => TIER_NEEDS[tier]) : ['server']);
}
