/** Node's own symbol for what `console.log` shows; without it an object with private fields alone is shown as empty. */
export const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never;

export interface InspectOptions {
  readonly depth?: number | null;
}

export type Inspect = (value: unknown, options: InspectOptions) => string;

/** `name` and `fields`, as Node shows an object of a class. */
export function inspected(
  name: string,
  fields: object,
  depth: number,
  options: InspectOptions,
  inspect: Inspect,
): string {
  return depth < 0 ? `[${name}]` : `${name} ${inspect(fields, options)}`;
}
