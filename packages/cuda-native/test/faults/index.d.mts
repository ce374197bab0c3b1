/** The functions of the addon's tables, of the driver and of nvJPEG: `callClass` is `kPrompt`, `kEnqueues` or `kWaits`. */
export function allFunctions(): { name: string; callClass: string; optional: boolean }[];

/** A tour of the whole public surface: what went wrong, and which functions were called, at all and on the JS thread. */
export function tour(options?: { old?: boolean }): Promise<{ problems: string[]; called: string[]; onLoop: string[] }>;

/** Lets each function fail once. */
export function trySample(): Promise<
  { fault: { call: string; status: number; use: number }; hit?: string; problems: string[] }[]
>;

/**
 * Works on a driver and a nvJPEG with late calls.
 *
 * @param rounds which: each entry alone, or together those of an inner array; what only the opening of a device calls
 *   gets a process of its own
 * @returns the operations during which a call was late, with the event loop's turns meanwhile
 */
export function runLate(rounds: (string | string[])[]): Promise<{ late: string; operation: string; turns: number }[]>;
