import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LocalTriton } from '@zerohop/local-triton';
import { privateTriton, testModels } from '@zerohop/test-support';
import { MODELS } from '../conformance/suite.js';
import type {
  CarriedCode,
  ConformanceTarget,
  RealVersion,
  ServerKind,
  ServerUrls,
  TransportName,
} from '../conformance/target.js';
import { Certificates } from './certificates.js';
import { TlsProxy } from './tls-proxy.js';

const OWN_MODELS = join(import.meta.dirname, '../conformance/models');
const RESTRICTED = 'metadata,shared-memory,model-config,model-repository,statistics,trace,logging:admin-key=secret';

const PYTHON: CarriedCode = {
  path: '1/model.py',
  doubling: `import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        inputs = [pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy() for request in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", 2 * values)]) for values in inputs]
`,
  broken: 'raise ValueError("broken")\n',
};

/** The real servers of one version that the conformance suite asks for, all started at once. */
export class ConformanceServers {
  readonly version: RealVersion;
  /** Made by `start`: tests that are skipped leave nothing. */
  #certificates: Certificates | undefined;
  #folder = '';
  #started: readonly LocalTriton[] = [];
  #proxy: TlsProxy | undefined;

  constructor(version: RealVersion) {
    this.version = version;
  }

  async start(): Promise<void> {
    const { version } = this;
    const certificates = new Certificates();
    this.#certificates = certificates;
    this.#folder = mkdtempSync(join(tmpdir(), 'zerohop-conformance-'));
    const { authority, server } = certificates;
    const forward = 'x-forward-.*';
    this.#started = await Promise.all([
      privateTriton({
        version,
        modelRepository: [testModels, OWN_MODELS],
        models: MODELS,
        args: [
          `--grpc-header-forward-pattern=${forward}`,
          `--http-header-forward-pattern=${forward}`,
          // Without a file the server allows no tracing at all.
          `--trace-config=triton,file=${this.#folder}/trace.json`,
          '--trace-config=level=OFF',
          // One case loads a model that fails to start, after which a strict server is not ready any more.
          '--strict-readiness=false',
        ],
      }),
      privateTriton({
        version,
        modelRepository: this.#twoModels(),
        args: [
          `--grpc-restricted-protocol=${RESTRICTED}`,
          `--http-restricted-api=${RESTRICTED}`,
          '--grpc-use-ssl=true',
          '--grpc-use-ssl-mutual=true',
          `--grpc-server-cert=${server.certFile}`,
          `--grpc-server-key=${server.keyFile}`,
          `--grpc-root-cert=${authority.certFile}`,
        ],
      }),
      privateTriton({
        version,
        modelRepository: [testModels, OWN_MODELS],
        models: ['identity', 'hold'],
        args: [`--grpc-address=unix:${this.#folder}/triton`],
      }),
    ]);
    this.#proxy = await TlsProxy.start(certificates, this.#server('locked').ports.http);
  }

  async stop(): Promise<void> {
    this.#proxy?.close();
    await Promise.all(this.#started.map((server) => server.stop()));
    if (this.#folder !== '') rmSync(this.#folder, { recursive: true });
    this.#certificates?.remove();
  }

  target(transport: TransportName): ConformanceTarget {
    // Over HTTP nothing more is asked of it than over gRPC, and that is asked first.
    const leaving = transport === 'grpc' ? 'socket' : 'locked';
    return {
      name: `Triton ${this.version}`,
      version: this.version,
      transport,
      servers: (kind) => this.#urls(kind),
      leaving,
      code: PYTHON,
      leave: () => this.#server(leaving).stop(),
      tls: () => {
        if (this.#certificates === undefined || this.#proxy === undefined)
          throw new Error('The servers are not started');
        const { authority, client } = this.#certificates;
        return { options: { ca: authority.cert, cert: client.cert, key: client.key }, httpsUrl: this.#proxy.url };
      },
    };
  }

  /** Without explicit control a server loads all there is. */
  #twoModels(): string {
    const repository = join(this.#folder, 'models');
    mkdirSync(repository);
    symlinkSync(join(testModels, 'identity'), join(repository, 'identity'));
    symlinkSync(join(OWN_MODELS, 'hold'), join(repository, 'hold'));
    return repository;
  }

  #urls(kind: ServerKind): ServerUrls {
    const { grpcUrl, httpUrl, metricsUrl, ports } = this.#server(kind);
    const urls = { httpUrl, metricsUrl };
    if (kind === 'locked') return { ...urls, grpcUrl: grpcUrl.replace('grpc:', 'grpcs:') };
    // The server appends the port to the name.
    if (kind === 'socket') return { ...urls, grpcUrl: `unix:${this.#folder}/triton:${ports.grpc}` };
    return { ...urls, grpcUrl };
  }

  #server(kind: ServerKind): LocalTriton {
    const server = this.#started[['main', 'locked', 'socket'].indexOf(kind)];
    if (server === undefined) throw new Error('The servers are not started');
    return server;
  }
}
