import type { RestrictedApis } from '../api-groups.js';
import { nearest } from '../nearest.js';
import type { DevServerOptions } from '../options.js';
import { VERSIONS, type Version } from '../personality.js';
import type { Protocol } from '../protocol.js';
import { UsageError } from './usage.js';
import { bool, file, folder, number, oneOf, pattern, port, restriction } from './values.js';
import { withoutEffect } from './without-effect.js';

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** What is read so far. */
interface Draft {
  readonly options: Mutable<DevServerOptions>;
  readonly repositories: string[];
  readonly models: string[];
  readonly rules: RestrictedApis[];
  readonly forwarded: { [P in Protocol]?: RegExp };
  readonly tls: { use?: boolean; mutual?: boolean; cert?: Buffer; key?: Buffer; root?: Buffer };
}

export interface Arguments {
  readonly options: DevServerOptions;
  /** Options of a real server that were given and say nothing to this one. */
  readonly ignored: readonly string[];
}

type Take = (draft: Draft, value: string, name: string) => void;

const restrict =
  (protocol: Protocol): Take =>
  ({ rules }, value, name) =>
    rules.push(restriction(value, name, protocol));

const forward =
  (protocol: Protocol): Take =>
  ({ forwarded }, value, name) => {
    forwarded[protocol] = pattern(value, name);
  };

const tlsOption =
  <Key extends keyof Draft['tls']>(key: Key, read: (value: string, name: string) => Draft['tls'][Key]): Take =>
  ({ tls }, value, name) => {
    tls[key] = read(value, name);
  };

const option =
  <Key extends keyof DevServerOptions>(
    key: Key,
    read: (value: string, name: string) => Exclude<DevServerOptions[Key], undefined>,
  ): Take =>
  ({ options }, value, name) => {
    (options as Record<string, unknown>)[key] = read(value, name);
  };

const OPTIONS: Readonly<Record<string, Take>> = {
  '--model-repository': ({ repositories }, value, name) => repositories.push(folder(value, name)),
  '--model-control-mode': option('modelControl', (value, name) => oneOf(value, name, ['none', 'explicit'])),
  '--load-model': ({ models }, value) => models.push(value),
  '--exit-on-error': option('exitOnError', bool),
  '--strict-readiness': option('strictReadiness', bool),
  '--host': option('host', (value) => value),
  '--grpc-port': option('grpcPort', port),
  '--grpc-address': option('grpcSocket', unixSocket),
  '--grpc-use-ssl': tlsOption('use', bool),
  '--grpc-use-ssl-mutual': tlsOption('mutual', bool),
  '--grpc-server-cert': tlsOption('cert', file),
  '--grpc-server-key': tlsOption('key', file),
  '--grpc-root-cert': tlsOption('root', file),
  '--grpc-restricted-protocol': restrict('grpc'),
  '--grpc-header-forward-pattern': forward('grpc'),
  '--http-port': option('httpPort', port),
  '--http-restricted-api': restrict('http'),
  '--http-header-forward-pattern': forward('http'),
  '--metrics-port': option('metricsPort', port),
  '--allow-metrics': option('metrics', bool),
  '--version': option('version', (value, name) => oneOf<Version>(value, name, VERSIONS)),
  '--allow-client-shm': option('allowClientShm', bool),
  '--exit-timeout-secs': option('exitTimeoutMs', (value, name) => 1000 * number(value, name, 1_000_000)),
  '--control-port': option('controlPort', port),
};

/** @throws UsageError */
export function readArguments(args: readonly string[]): Arguments {
  const options: Mutable<DevServerOptions> = { grpcPort: 8001, httpPort: 8000, metricsPort: 8002 };
  const draft: Draft = { options, repositories: [], models: [], rules: [], forwarded: {}, tls: {} };
  const ignored: string[] = [];
  const left = [...args];
  for (let arg = left.shift(); arg !== undefined; arg = left.shift()) {
    const [, name = arg, given] = /^(--[^=]+)=(.*)$/s.exec(arg) ?? [];
    const unused = withoutEffect(name);
    if (unused !== undefined) ignored.push(name);
    if (unused === 'flag') continue;
    const take = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : undefined;
    if (take === undefined && unused === undefined) throw unknown(name);
    const value = given ?? left.shift();
    if (value === undefined) throw new UsageError(`${name} needs a value`);
    take?.(draft, value, name);
  }
  const { repositories, models, rules, forwarded } = draft;
  if (repositories.length === 0) throw new UsageError('--model-repository is needed: a folder of model folders');
  if (models.length > 0 && options.modelControl !== 'explicit') {
    throw new UsageError('--load-model needs --model-control-mode explicit');
  }
  const lists = { modelRepository: repositories, loadModels: models, restricted: rules };
  return { options: { ...options, ...lists, forwardHeaders: forwarded, ...tlsOf(draft.tls) }, ignored };
}

function unknown(name: string): UsageError {
  const meant = nearest(name, Object.keys(OPTIONS));
  return new UsageError(
    `There is no option '${name}', ${meant === undefined ? 'see --help' : `did you mean '${meant}'? See --help`}`,
  );
}

function unixSocket(value: string, name: string): string {
  if (!/^unix:./.test(value)) throw new UsageError(`${name} takes unix:PATH, not '${value}': --host is for all else`);
  return value.slice('unix:'.length);
}

/** As a real server's, mutual TLS is TLS too, and files are of no interest without either. */
function tlsOf({ use = false, mutual = false, cert, key, root }: Draft['tls']): Pick<DevServerOptions, 'tls'> {
  if (!use && !mutual) return {};
  const which = mutual ? '--grpc-use-ssl-mutual' : '--grpc-use-ssl';
  if (cert === undefined || key === undefined) {
    throw new UsageError(`${which} needs --grpc-server-cert and --grpc-server-key`);
  }
  if (!mutual) return { tls: { cert, key } };
  if (root === undefined) throw new UsageError(`${which} needs --grpc-root-cert, which signed what clients show`);
  return { tls: { cert, key, clientCa: root } };
}
