/** JSON as text says more than values do: numbers of any size, in any form. */
export class Literal {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Json = null | boolean | number | string | Literal | Json[] | JsonObject;
export interface JsonObject {
  [name: string]: Json;
}

export function jsonText(value: Json): string {
  if (value instanceof Literal) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value)
      .map(([name, part]) => `${JSON.stringify(name)}:${jsonText(part)}`)
      .join(',')}}`;
  }
  return JSON.stringify(value);
}

/** A place in a document: the object or array that holds a value. */
export interface JsonPlace {
  readonly holder: Record<string | number, Json>;
  readonly key: string | number;
}

export function jsonPlaces(value: Json): JsonPlace[] {
  if (typeof value !== 'object' || value === null || value instanceof Literal) return [];
  const holder = value as Record<string | number, Json>;
  return Object.entries(value).flatMap(([name, part]: [string, Json]) => {
    const key = Array.isArray(value) ? Number(name) : name;
    return [{ holder, key }, ...jsonPlaces(part)];
  });
}
