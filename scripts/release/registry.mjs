import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { failOn } from './problems.mjs';
import { run } from './run.mjs';
import { toolProgram } from './tools.mjs';

/**
 * Starts a registry that is empty and knows no other: what is installed from it is what was published to it.
 *
 * @param {string} folder for what it stores
 * @returns {Promise<{ url: string, npmrc: string, close(): Promise<void> }>} `npmrc` holds what a project needs to take the packages
 *   of our scope from here, and all others from the registry that its user has
 */
export async function startRegistry(folder) {
  mkdirSync(folder);
  const { runServer } = createRequire(toolProgram('verdaccio', 'package.json'))('verdaccio');
  const server = await runServer({
    self_path: folder,
    configPath: join(folder, 'config.yaml'),
    storage: join(folder, 'storage'),
    uplinks: {},
    packages: { '**': { access: '$all', publish: '$all' } },
    web: { enable: false },
    log: { type: 'stdout', format: 'pretty', level: 'error' },
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${server.address().port}`;
  return {
    url: `http://${host}/`,
    // npm publishes nowhere without a token, also where everybody may.
    npmrc: `@zerohop:registry=http://${host}/\n//${host}/:_authToken=anybody\n`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** @throws {import('./problems.mjs').CheckFailed} */
export async function publish({ archive }, registry, folder) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, '.npmrc'), registry.npmrc);
  const options = ['--registry', registry.url, '--ignore-scripts', '--provenance=false'];
  const { ok, status, stdout, stderr } = await run('npm', ['publish', archive, ...options], { cwd: folder });
  failOn(ok ? [] : [`npm publish ${status}:\n${stdout}${stderr}`]);
}

/**
 * What an install is asked for. Our scope is taken from the local registry; a name without a scope can't be, beside the
 * registry for all others, so such a package is asked for by the address that the local registry gives for it.
 */
export async function specifier({ name, version }, registry) {
  if (name.startsWith('@zerohop/')) return `${name}@${version}`;
  const response = await fetch(`${registry.url}${name}`);
  const { versions } = await response.json();
  return versions[version].dist.tarball;
}
