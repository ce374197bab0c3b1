/** The kernels, without `Preprocessor`: device memory in, device memory out. */
export type { DeviceImage } from './gpu/device-image.js';
export { ImageKernels } from './gpu/image-kernels.js';
export type { ImagePlan, Placed } from './gpu/image-plan.js';
export type { LoadedFrom } from './gpu/module-image.js';
export type { Orienter, StoredImage } from './gpu/orienter.js';
export type { FullRecipe, KernelRecipe } from './gpu/recipe.js';
export { checkPixelLayout, extent } from './pixel-layout.js';
export { ELEMENT_BYTES, type ElementType } from './reference/elements.js';
export type { PixelFormat } from './reference/formats.js';
export type { Crop } from './reference/geometry.js';
export type { ExifOrientation } from './reference/orient.js';
