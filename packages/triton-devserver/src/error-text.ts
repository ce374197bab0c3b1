import { fileURLToPath } from 'node:url';
import { attempt, textOf } from './status.js';

/** Where this package's own code is: of `src`, or of the bundle. */
const OWN = new URL('.', import.meta.url).href;
const FRAME = /^ {4}at (?:(?:async )?(?<called>[^(]+?) \()?(?<place>(?:file:\/\/)?\/?[^\s()]+?):(?<line>\d+):\d+\)?$/;

/** What a model's code threw, with the places in it, as the Python backend tells them. Never throws. */
export function errorText(error: unknown): string {
  const text = textOf(error, true);
  const places = attempt(() => (error instanceof Error ? placesOf(error) : undefined)) ?? [];
  return places.length === 0 ? text : `${text}\n\nAt:\n${places.map((place) => `  ${place}\n`).join('')}`;
}

/**
 * The frames before the first of this package, such as `/models/double/1/model.mjs(7): execute`; innermost first. What called
 * the model's own code from `node_modules`, such as a runner of tests, is left out.
 */
function placesOf(error: Error): string[] {
  const places: string[] = [];
  let last = 0;
  for (const frame of (error.stack ?? '').split('\n')) {
    const { called, place, line } = FRAME.exec(frame)?.groups ?? {};
    if (place === undefined || line === undefined || place.startsWith('node:')) continue;
    const path = pathOf(place);
    if (path === undefined) break;
    places.push(`${path}(${line}): ${called?.replace(/^Object\./, '') ?? '<module>'}`);
    if (!path.includes('/node_modules/')) last = places.length;
  }
  return places.slice(0, last);
}

/** A frame's file without what `import` was told besides; undefined for one of this package. */
function pathOf(place: string): string | undefined {
  const path = place.startsWith('file://') ? fileURLToPath(place) : place.replace(/\?.*$/, '');
  return path.startsWith(fileURLToPath(OWN)) ? undefined : path;
}
