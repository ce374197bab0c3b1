import { type Datatype, type Elements, viewOf } from '../datatype.js';
import type { ModelTensor } from '../model.js';
import { tensorOf } from './elements.js';
import type { RegionUse } from './regions.js';

/**
 * An input in a region as a model gets it. Numbers are read when the model looks: in place where the region can be shown, or
 * else copied at its first look. Texts, and what is on a GPU, are copied before.
 *
 * @throws ServerError as `tensorOf`
 */
export async function regionTensor(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  region: RegionUse,
): Promise<ModelTensor> {
  if (datatype === 'BYTES' || region.kind === 'cuda') return tensorOf(name, datatype, shape, await region.read());
  // A real server reads it now, and may die of that whether or not the model looks.
  region.view();
  let copy: Elements | undefined;
  return {
    datatype,
    shape,
    get data() {
      if (copy !== undefined) return copy;
      const seen = region.view();
      if (seen !== undefined) return viewOf(datatype, seen);
      copy = viewOf(datatype, region.read() as Uint8Array);
      return copy;
    },
  };
}
