/** As `Promise.all`, but not before each of them has ended. @throws what the first of them, in their order, failed with */
export async function allOrNone<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(work);
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
}
