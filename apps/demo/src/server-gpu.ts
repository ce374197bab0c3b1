import type { Availability } from '@zerohop/cuda-native';

/**
 * Variables for a server of our own. Of several GPUs it is shown the first: a model would have an instance on each and
 * answer from whichever is free, and the tensors lie on one.
 */
export function gpuVariables(found: Availability): Readonly<Record<string, string>> {
  const [first, ...others] = found.available ? found.devices : [];
  return first === undefined || others.length === 0 ? {} : { CUDA_VISIBLE_DEVICES: first.uuid };
}
