import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { conformanceSuite, MODELS } from '../../../triton-client/test/conformance/suite.js';
import type {
  CarriedCode,
  ConformanceTarget,
  ServerKind,
  ServerUrls,
  ServerVersion,
  TransportName,
} from '../../../triton-client/test/conformance/target.js';
import { Certificates } from '../../../triton-client/test/support/certificates.js';
import { TlsProxy } from '../../../triton-client/test/support/tls-proxy.js';
import { API_GROUPS } from '../../src/api-groups.js';
import { DevServer } from '../../src/index.js';
import { TwinRepository } from './twin-repository.js';

/** All but what everybody may ask. */
const RESTRICTED = API_GROUPS.filter((group) => group !== 'health' && group !== 'inference');

const JAVASCRIPT: CarriedCode = {
  path: '1/model.mjs',
  doubling: `export default ({ inputs: { INPUT0 } }) => ({
    OUTPUT0: { shape: INPUT0.shape, data: INPUT0.data.map((value) => 2 * value) },
  });`,
  broken: `throw new TypeError('broken');`,
};

/** Devservers in the place of the real ones that the client's conformance suite asks for. */
class ConformanceDevServers {
  readonly version: ServerVersion;
  readonly #certificates = new Certificates();
  readonly #repositories = [new TwinRepository(), new TwinRepository(['identity', 'hold'])];
  readonly #folder = mkdtempSync(join(tmpdir(), 'zerohop-devserver-'));
  #started: readonly DevServer[] = [];
  #proxy: TlsProxy | undefined;

  constructor(version: ServerVersion) {
    this.version = version;
  }

  async start(): Promise<void> {
    const { version } = this;
    const [all, two] = this.#repositories.map(({ path }) => path) as [string, string];
    const { authority, server } = this.#certificates;
    this.#started = await Promise.all([
      DevServer.start({
        version,
        modelRepository: all,
        modelControl: 'explicit',
        loadModels: MODELS,
        forwardHeaders: /x-forward-.*/,
        strictReadiness: false,
        allowClientShm: true,
      }),
      DevServer.start({
        version,
        modelRepository: two,
        allowClientShm: true,
        restricted: [{ apis: RESTRICTED, header: 'admin-key', value: 'secret' }],
        tls: { cert: Buffer.from(server.cert), key: Buffer.from(server.key), clientCa: Buffer.from(authority.cert) },
      }),
      DevServer.start({ version, modelRepository: two, grpcSocket: join(this.#folder, 'triton') }),
    ]);
    this.#proxy = await TlsProxy.start(this.#certificates, this.#server('locked').ports.http);
  }

  async stop(): Promise<void> {
    this.#proxy?.close();
    await Promise.all(this.#started.map((server) => server.kill()));
    for (const repository of this.#repositories) repository.remove();
    rmSync(this.#folder, { recursive: true, force: true });
    this.#certificates.remove();
  }

  target(transport: TransportName): ConformanceTarget {
    const leaving = transport === 'grpc' ? 'socket' : 'locked';
    return {
      name: `devserver as Triton ${this.version}`,
      version: this.version,
      transport,
      servers: (kind) => this.#urls(kind),
      leaving,
      code: JAVASCRIPT,
      leave: () => this.#server(leaving).stop(),
      tls: () => {
        if (this.#proxy === undefined) throw new Error('The servers are not started');
        const { authority, client } = this.#certificates;
        return { options: { ca: authority.cert, cert: client.cert, key: client.key }, httpsUrl: this.#proxy.url };
      },
    };
  }

  #urls(kind: ServerKind): ServerUrls {
    const { grpcUrl, httpUrl, metricsUrl } = this.#server(kind);
    return { grpcUrl, httpUrl, metricsUrl };
  }

  #server(kind: ServerKind): DevServer {
    const server = this.#started[['main', 'locked', 'socket'].indexOf(kind)];
    if (server === undefined) throw new Error('The servers are not started');
    return server;
  }
}

/** Registers the client's conformance suite, over both transports, on devservers of one version. */
export function conformanceOf(version: ServerVersion): void {
  const servers = new ConformanceDevServers(version);
  beforeAll(() => servers.start());
  afterAll(() => servers.stop());
  conformanceSuite(servers.target('grpc'));
  conformanceSuite(servers.target('http'));
}
