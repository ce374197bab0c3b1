import type { ApiGroup } from '../api-groups.js';

type Named<Name, Rest> = Name extends string ? { readonly name: Name } & Readonly<Rest> : never;
interface OfModel {
  model: string;
  /** '' where the path names none. */
  version: string;
}

/** What a path and a method ask for. */
export type Route =
  | Named<'server-metadata' | 'index' | 'logging', object>
  | Named<'health', { what: 'live' | 'ready' }>
  | Named<'model-metadata' | 'model-ready' | 'model-config' | 'infer' | 'generate' | 'generate-stream', OfModel>
  /** Model '' is all. */
  | Named<'statistics', OfModel>
  | Named<'load' | 'unload', { repository: string | undefined; model: string }>
  /** Region '' where the path names none. */
  | Named<'region-status' | 'region-register' | 'region-unregister', { kind: 'system' | 'cuda'; region: string }>
  /** Model '' is the server. */
  | Named<'trace', { model: string }>;

/** The server's own expressions (http_server.cc), against the whole path as it came. */
const MODEL =
  /^\/v2\/models\/([^/]+)(?:\/versions\/([0-9]+))?(?:\/(infer|generate(?:_stream)?|ready|config|stats|trace\/setting))?$/;
const REPOSITORY = /^\/v2\/repository(?:\/([^/]+))?\/(?:(index)|models\/([^/]+)\/(load|unload))$/;
const REGION = /^\/v2\/(system|cuda)sharedmemory(?:\/region\/([^/]+))?\/(status|register|unregister)$/;
const HEALTH = /^\/v2\/health\/(live|ready)$/;

const OF_MODEL = {
  infer: 'infer',
  generate: 'generate',
  generate_stream: 'generate-stream',
  ready: 'model-ready',
  config: 'model-config',
} as const;

/** @returns undefined: 404 */
export function routeOf(path: string): Route | undefined {
  if (path === '/v2/models/stats') return { name: 'statistics', model: '', version: '' };
  if (path === '/v2') return { name: 'server-metadata' };
  if (path === '/v2/trace/setting') return { name: 'trace', model: '' };
  if (path === '/v2/logging') return { name: 'logging' };
  const health = HEALTH.exec(path)?.[1];
  if (health === 'live' || health === 'ready') return { name: 'health', what: health };
  return modelRoute(path) ?? repositoryRoute(path) ?? regionRoute(path);
}

function modelRoute(path: string): Route | undefined {
  const [, model, version = '', kind] = MODEL.exec(path) ?? [];
  if (model === undefined) return undefined;
  if (kind === undefined) return { name: 'model-metadata', model, version };
  if (kind === 'stats') return { name: 'statistics', model, version };
  // Trace settings are of a model, whatever its version.
  if (kind === 'trace/setting') return version === '' ? { name: 'trace', model } : undefined;
  return { name: OF_MODEL[kind as keyof typeof OF_MODEL], model, version };
}

function repositoryRoute(path: string): Route | undefined {
  const [, repository, index, model = '', action] = REPOSITORY.exec(path) ?? [];
  if (index !== undefined) return { name: 'index' };
  return action === undefined ? undefined : ({ name: action, repository, model } as Route);
}

function regionRoute(path: string): Route | undefined {
  const [, kind, region = '', action] = REGION.exec(path) ?? [];
  if (kind === undefined) return undefined;
  return { name: `region-${action}`, kind, region } as Route;
}

interface Rule {
  readonly group: ApiGroup;
  readonly methods: readonly string[];
  /** The refusal of another method has no content type of its own. */
  readonly plain?: true;
}

const GET = ['GET'];
const POST = ['POST'];

/** Which group of APIs a route is of, and how it may be called. */
export const RULES: Readonly<Record<Route['name'], Rule>> = {
  'server-metadata': { group: 'metadata', methods: GET },
  health: { group: 'health', methods: GET, plain: true },
  'model-metadata': { group: 'metadata', methods: GET },
  'model-ready': { group: 'health', methods: GET, plain: true },
  'model-config': { group: 'model-config', methods: GET },
  infer: { group: 'inference', methods: POST, plain: true },
  generate: { group: 'inference', methods: POST },
  'generate-stream': { group: 'inference', methods: POST },
  statistics: { group: 'statistics', methods: GET },
  index: { group: 'model-repository', methods: POST },
  load: { group: 'model-repository', methods: POST },
  unload: { group: 'model-repository', methods: POST },
  'region-status': { group: 'shared-memory', methods: GET },
  'region-register': { group: 'shared-memory', methods: POST },
  'region-unregister': { group: 'shared-memory', methods: POST },
  trace: { group: 'trace', methods: ['GET', 'POST'] },
  logging: { group: 'logging', methods: ['GET', 'POST'] },
};
