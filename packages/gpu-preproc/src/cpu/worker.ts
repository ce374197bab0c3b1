/** The program of a thread of the CPU path: writes bands of tensors by the definition. */
import { parentPort } from 'node:worker_threads';
import { imageToTensor, type TensorBits, type TensorRecipe, typedElements } from '../reference/tensor.js';
import { finishBand, missingBands, rowsOf, takeBand } from './bands.js';
import { type Answer, type Job, READY } from './messages.js';
import { openTensor } from './regions.js';

/** How many recipes, and with them their tables (of 16-bit pictures 786 KB), are kept. */
const MOST_RECIPES = 16;

/** In the order in which each was last used. A message brings a new object each time, and tables belong to the object. */
const recipes = new Map<number, TensorRecipe>();

function recipeOf({ recipe, recipeId }: Job): TensorRecipe {
  const known = recipes.get(recipeId) ?? recipe;
  recipes.delete(recipeId);
  recipes.set(recipeId, known);
  const [oldest] = recipes.keys();
  if (recipes.size > MOST_RECIPES && oldest !== undefined) recipes.delete(oldest);
  return known;
}

async function elementsOf({ destination, recipe, count }: Job): Promise<TensorBits> {
  if ('buffer' in destination) {
    return typedElements(recipe.datatype, destination.buffer, destination.byteOffset, count);
  }
  const { buffer, byteOffset } = await openTensor(destination);
  return typedElements(recipe.datatype, buffer, byteOffset, count);
}

async function write(job: Job): Promise<Answer> {
  try {
    // A thread that comes late must not look at memory that is in other hands by now.
    if (missingBands(job.bands).length === 0) return { id: job.id };
    const elements = await elementsOf(job);
    const recipe = recipeOf(job);
    for (let band = takeBand(job.bands); band !== undefined; band = takeBand(job.bands)) {
      imageToTensor(job.image, recipe, elements, rowsOf(job.bands, band));
      finishBand(job.bands, band);
    }
    return { id: job.id };
  } catch (error) {
    return { id: job.id, failure: error instanceof Error ? error.message : String(error) };
  }
}

parentPort?.on('message', (job: Job) => {
  void write(job).then((answer) => parentPort?.postMessage(answer));
});
parentPort?.postMessage(READY);
