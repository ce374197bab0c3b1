import { setTimeout as pause } from 'node:timers/promises';

/** Waits for the parameter `ms`, or for as many milliseconds as the first value says; then returns its input. */
export default async ({ inputs: { INPUT0 }, parameters }) => {
  await pause(Number(parameters.ms ?? INPUT0.data[0]));
  return { OUTPUT0: INPUT0 };
};
