/** Builds the fake CUDA driver when needed (with gcc, under a second) and gives its path, for `ZEROHOP_LIBCUDA`. */
export function buildFakeLibcuda(): string;
