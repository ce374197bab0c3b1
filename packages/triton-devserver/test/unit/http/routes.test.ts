import { expect, test } from 'vitest';
import { pathOf } from '../../../src/http/exchange.js';
import { routeOf } from '../../../src/http/routes.js';

test.each([
  ['/v2', { name: 'server-metadata' }],
  ['/v2/health/live', { name: 'health', what: 'live' }],
  ['/v2/models/stats', { name: 'statistics', model: '', version: '' }],
  ['/v2/models/stats/ready', { name: 'model-ready', model: 'stats', version: '' }],
  ['/v2/models/m/versions/3/infer', { name: 'infer', model: 'm', version: '3' }],
  ['/v2/models/simp%6ce/config', { name: 'model-config', model: 'simp%6ce', version: '' }],
  ['/v2/models/m/generate_stream', { name: 'generate-stream', model: 'm', version: '' }],
  ['/v2/models/m/trace/setting', { name: 'trace', model: 'm' }],
  ['/v2/repository/x/index', { name: 'index' }],
  ['/v2/repository/models/m/load', { name: 'load', repository: undefined, model: 'm' }],
  ['/v2/cudasharedmemory/region/r/register', { name: 'region-register', kind: 'cuda', region: 'r' }],
  ['/v2/systemsharedmemory/status', { name: 'region-status', kind: 'system', region: '' }],
  ['/v2/logging', { name: 'logging' }],
])('%s', (path, route) => {
  expect(routeOf(path)).toEqual(route);
});

test.each([
  '/v2/',
  '/v2/models',
  '/v2/models/m/',
  '/v2/models/m/versions/x',
  '/v2/models/m/versions/-1',
  '/v2/models/m/versions/1/trace/setting',
  '/v2/repository/models/m/index',
  '//v2/health/live',
  '/metrics',
])('%s leads nowhere', (path) => {
  expect(routeOf(path)).toBeUndefined();
});

test('a path is taken as it came, without its query and the server of a proxy', () => {
  expect(pathOf('/v2/models/a%20b?x=/y?z')).toBe('/v2/models/a%20b');
  expect(pathOf('http://host:1/v2?x')).toBe('/v2');
});
