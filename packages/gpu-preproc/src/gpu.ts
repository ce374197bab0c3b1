/** The kernels, without `Preprocessor`: device memory in, device memory out. */
export type { Crop, DeviceFormat, DeviceImage } from './gpu/device-image.js';
export { ImageKernels } from './gpu/image-kernels.js';
export type { ImagePlan, Placed } from './gpu/image-plan.js';
export type { LoadedFrom } from './gpu/module-image.js';
export type { ElementType, KernelRecipe } from './gpu/recipe.js';
