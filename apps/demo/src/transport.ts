export const transports = ['auto', 'cuda', 'system', 'bytes'] as const;

/** How tensors travel to the server; `auto` takes the first of the others that is proven to work. */
export type Transport = (typeof transports)[number];
