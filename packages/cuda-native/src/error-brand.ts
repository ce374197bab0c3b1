/**
 * Marks instances so that `instanceof` also holds for errors of another copy of this package in the same process.
 * Matching on `code` is still the better test.
 */
export function isBranded(value: unknown, brand: symbol): boolean {
  return typeof value === 'object' && value !== null && brand in value;
}

/** On the prototype, so that the stack, which is taken in Error's constructor, begins with it. */
export function nameErrors(ErrorClass: { prototype: Error }, name: string): void {
  Object.defineProperty(ErrorClass.prototype, 'name', { value: name, configurable: true, writable: true });
}
