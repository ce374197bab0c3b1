/**
 * Builds the fake CUDA driver when needed (with gcc, in a few seconds) and gives its path, for `ZEROHOP_LIBCUDA`.
 *
 * @param options.old the driver of CUDA 11.4, which lacks the optional functions
 */
export function buildFakeLibcuda(options?: { old?: boolean }): string;

/** Builds the C files of `folder` into a shared library `build/FILE` there, when needed, and gives its path. */
export function buildLibrary(folder: string, file: string, flags?: string[]): string;

/** Makes `file` by a program that gets its path last, unless it is newer than its sources; gives the path. */
export function buildFile(file: string, sources: readonly string[], command: readonly string[]): string;
