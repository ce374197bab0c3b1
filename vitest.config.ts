import { defineConfig } from 'vitest/config';

const tier = (name: string, options: { timeout: number; parallel: boolean; triton?: boolean }) => ({
  extends: true as const,
  test: {
    name,
    include: [
      `packages/*/test/${name}/**/*.test.ts`,
      `apps/*/test/${name}/**/*.test.ts`,
      `tools/*/test/${name}/**/*.test.ts`,
      `bench/test/${name}/**/*.test.ts`,
      `tests/${name}/**/*.test.ts`,
    ],
    testTimeout: options.timeout,
    hookTimeout: options.timeout,
    fileParallelism: options.parallel,
    // How long it takes is no test's question.
    expect: { poll: { timeout: options.timeout / 2 } },
    // One real server for all files of the tier.
    ...(options.triton && { globalSetup: './tools/test-support/src/triton-setup.ts' }),
  },
});

export default defineConfig({
  // Workspace packages are tested from their sources; what is published is tested from dist by child processes.
  resolve: { conditions: ['@zerohop/source', 'node', 'import', 'default'] },
  ssr: {
    resolve: {
      conditions: ['@zerohop/source', 'node', 'import', 'default'],
      externalConditions: ['@zerohop/source', 'node', 'import', 'default'],
    },
  },
  test: {
    pool: 'forks',
    projects: [
      tier('unit', { timeout: 20_000, parallel: true }),
      tier('contract', { timeout: 60_000, parallel: true }),
      tier('host', { timeout: 120_000, parallel: true }),
      tier('driver', { timeout: 60_000, parallel: true }),
      tier('arm64', { timeout: 120_000, parallel: true }),
      tier('triton', { timeout: 120_000, parallel: false, triton: true }),
      // What `pnpm soak` runs, and no tier of `npm test`.
      tier('soak', { timeout: 600_000, parallel: false, triton: true }),
      tier('gpu', { timeout: 300_000, parallel: false, triton: true }),
    ],
  },
});
