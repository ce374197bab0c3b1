/** Builds the fake nvJPEG when needed and gives its path. It works with the fake driver that `ZEROHOP_LIBCUDA` names. */
export function buildFakeLibnvjpeg(): string;
