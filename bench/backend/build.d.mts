/** Builds the native backend when it is not up to date; resolves to the backend directory to give the server. */
export declare function buildBackend(): Promise<string>;
