/** The kernels, without `Preprocessor`: device memory in, device memory out. */
export type { Crop, DeviceFormat, DeviceImage } from './gpu/device-image.js';
export { ImageKernels, type ImagePlan, type Placed } from './gpu/image-kernels.js';
export type { LoadedFrom } from './gpu/module-image.js';
export type { ElementType, KernelRecipe } from './gpu/recipe.js';
