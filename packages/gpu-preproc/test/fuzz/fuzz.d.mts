export interface FuzzReport {
  readonly seed: number;
  readonly count: number;
  /** How many gave a tensor, and each code. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly byDamage: Readonly<Record<string, { readonly tensor: number; readonly refused: number }>>;
  /** Of all outcomes and tensors, in order. */
  readonly digest: string;
  /** Of the child process, in bytes. */
  readonly peakRss: number;
  readonly problems: readonly string[];
}
export function fuzz(options: {
  seed: number;
  count: number;
  onProgress?: (done: number) => void;
}): Promise<FuzzReport>;
