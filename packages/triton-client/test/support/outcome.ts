/** What a promise rejects with, or that it did not. */
export const failure = (promise: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(promise).then(
    () => 'resolved',
    (error: unknown) => error,
  );

/** What a promise is now: a value, or that it is pending. */
export async function now<T>(promise: Promise<T>): Promise<T | 'pending'> {
  await new Promise((resolve) => setImmediate(resolve));
  return Promise.race([promise, Promise.resolve('pending' as const)]);
}
