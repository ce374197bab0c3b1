import type { ServerVersion } from './target.js';

/** Where the servers differ, by name: what each of them does. Everything else is the same on all. */
export const DIFFERENCES = {
  'cuda-status-text': {
    what: 'The kind that the text for an unknown CUDA region names',
    '2.51': 'cuda',
    '2.53': 'cuda',
    '2.68': 'cuda',
    '2.48': 'system',
  },
  'unregister-in-use': {
    what: 'Unregistering a region that a request uses',
    '2.51': 'refused with INTERNAL',
    '2.53': 'accepted, and the region goes with its last user',
    '2.68': 'accepted, and the region goes with its last user',
    '2.48': 'accepted, and the server dies when the request ends: never asked of it',
  },
} as const satisfies Record<string, { readonly what: string } & Record<ServerVersion, string>>;

export function difference(name: keyof typeof DIFFERENCES, version: ServerVersion): string {
  return DIFFERENCES[name][version];
}
