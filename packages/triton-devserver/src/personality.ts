/** The versions of Triton whose ways are known. */
export type Version = '2.48' | '2.51' | '2.53' | '2.68';

/** Where the versions differ. Everything else is the same in all of them. */
export interface Personality {
  /** As the server's metadata give it. */
  readonly serverVersion: string;
  /**
   * Unregistering a region that a request uses: 2.48 does it, and dies when the request's answer is written; 2.50 to 2.52
   * refuse; later ones say OK, and the region goes when its last user has ended.
   */
  readonly unregisterInUse: 'crash' | 'refuse' | 'defer';
  /** The kind that the text for an unknown CUDA region names. */
  readonly unknownCudaRegion: 'system' | 'cuda';
  /** Whether a client may register regions at all without being allowed to. */
  readonly clientSharedMemory: boolean;
  /** Whether the offset of a system region is added to a request's, though the mapping begins at it already. */
  readonly appliesOffsetTwice: boolean;
  /** Whether keys that Python's backend uses for itself are refused by name, and an overflowing extent has a text. */
  readonly checksKeys: boolean;
  /** Whether `triton_grpc_error: true` in a stream's headers makes a model's error the stream's status. */
  readonly grpcErrorHeader: boolean;
  /** Whether generate takes a list for an input with several elements, and hands the request's id on. */
  readonly generateTakesLists: boolean;
  /**
   * Whether the elements of BYTES are all counted before their number is compared with the shape, or up to one too many. The
   * texts differ, too.
   */
  readonly countsAllElements: boolean;
  /** Whether inputs that a model without batches does not have are found before all else that is wrong with inputs. */
  readonly looksUpInputsFirst: boolean;
}

const V2_48: Personality = {
  serverVersion: '2.48.0',
  unregisterInUse: 'crash',
  unknownCudaRegion: 'system',
  clientSharedMemory: true,
  appliesOffsetTwice: true,
  checksKeys: false,
  grpcErrorHeader: false,
  generateTakesLists: false,
  countsAllElements: true,
  looksUpInputsFirst: false,
};
const V2_51: Personality = {
  ...V2_48,
  serverVersion: '2.51.0',
  unregisterInUse: 'refuse',
  unknownCudaRegion: 'cuda',
  grpcErrorHeader: true,
  generateTakesLists: true,
  countsAllElements: false,
  looksUpInputsFirst: true,
};
const V2_53: Personality = { ...V2_51, serverVersion: '2.53.0', unregisterInUse: 'defer' };
const V2_68: Personality = {
  ...V2_53,
  serverVersion: '2.68.0',
  clientSharedMemory: false,
  appliesOffsetTwice: false,
  checksKeys: true,
};

export const PERSONALITIES: Readonly<Record<Version, Personality>> = {
  '2.48': V2_48,
  '2.51': V2_51,
  '2.53': V2_53,
  '2.68': V2_68,
};

export const VERSIONS: readonly string[] = Object.keys(PERSONALITIES);
