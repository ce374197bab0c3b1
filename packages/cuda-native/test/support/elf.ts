/** What a loader reads of a shared library, for any 64-bit little-endian machine, without a tool of that machine. */
export interface SharedLibrary {
  readonly machine: 'x64' | 'arm64' | number;
  /** Names of the libraries it asks for. */
  readonly needed: readonly string[];
  /** The folders it looks for them in beside the system's; none in a library that may lie anywhere. */
  readonly runPaths: readonly string[];
  /** Defined global and weak dynamic symbols: what others can bind to. */
  readonly exported: readonly string[];
  /** Versions that it demands of other libraries, such as `GLIBC_2.28`. */
  readonly versions: readonly { readonly library: string; readonly version: string }[];
  /** Whether the loader keeps it mapped when the last user closes it. */
  readonly staysLoaded: boolean;
  readonly executableStack: boolean;
}

const MACHINES = new Map<number, 'x64' | 'arm64'>([
  [62, 'x64'],
  [183, 'arm64'],
]);
const SHT_DYNAMIC = 6;
const SHT_DYNSYM = 11;
const SHT_GNU_VERNEED = 0x6ffffffe;
const DT_NEEDED = 1;
const DT_RPATH = 15;
const DT_RUNPATH = 29;
const DT_FLAGS_1 = 0x6ffffffb;
const DF_1_NODELETE = 8;
const PT_GNU_STACK = 0x6474e551;
const PF_X = 1;

interface Section {
  type: number;
  offset: number;
  size: number;
  link: number;
  info: number;
}

/**
 * Reads an ELF file.
 *
 * @throws Error when it is none, not a 64-bit little-endian one, or has no dynamic symbols
 */
export function readSharedLibrary(file: Buffer): SharedLibrary {
  if (file.toString('latin1', 0, 4) !== '\x7fELF') throw new Error('not an ELF file');
  if (file[4] !== 2 || file[5] !== 1) throw new Error('not a 64-bit little-endian ELF file');
  const u16 = (at: number) => file.readUInt16LE(at);
  const u32 = (at: number) => file.readUInt32LE(at);
  const u64 = (at: number) => Number(file.readBigUInt64LE(at));

  const sections: Section[] = Array.from({ length: u16(60) }, (_, index) => {
    const at = u64(40) + index * u16(58);
    return { type: u32(at + 4), offset: u64(at + 24), size: u64(at + 32), link: u32(at + 40), info: u32(at + 44) };
  });
  const section = (type: number): Section => {
    const found = sections.find((each) => each.type === type);
    if (found === undefined) throw new Error(`no section of type ${type}`);
    return found;
  };
  /** A text of the string table that belongs to a section. */
  const text = (of: Section, offset: number): string => {
    const start = (sections[of.link]?.offset ?? 0) + offset;
    return file.toString('utf8', start, file.indexOf(0, start));
  };

  const dynamic = section(SHT_DYNAMIC);
  const entries = Array.from({ length: dynamic.size / 16 }, (_, index) => {
    const at = dynamic.offset + index * 16;
    return { tag: u64(at), value: u64(at + 8) };
  });
  const texts = (...tags: number[]) =>
    entries.filter(({ tag }) => tags.includes(tag)).map(({ value }) => text(dynamic, value));

  const symbols = section(SHT_DYNSYM);
  const exported: string[] = [];
  for (let at = symbols.offset; at < symbols.offset + symbols.size; at += 24) {
    const isLocal = (file[at + 4] ?? 0) >> 4 === 0;
    const isUndefined = u16(at + 6) === 0;
    if (!isLocal && !isUndefined) exported.push(text(symbols, u32(at)));
  }

  const versions: { library: string; version: string }[] = [];
  const demands = sections.find(({ type }) => type === SHT_GNU_VERNEED);
  // A list of libraries, each with a list of its versions; offsets lead from one to the next.
  for (let at = demands?.offset ?? 0, left = demands?.info ?? 0; demands !== undefined && left > 0; left -= 1) {
    for (let of = at + u32(at + 8), more = u16(at + 2); more > 0; more -= 1) {
      versions.push({ library: text(demands, u32(at + 4)), version: text(demands, u32(of + 8)) });
      of += u32(of + 12);
    }
    at += u32(at + 12);
  }

  const segments = Array.from({ length: u16(56) }, (_, index) => u64(32) + index * u16(54));
  const stack = segments.find((at) => u32(at) === PT_GNU_STACK);
  const flags = entries.find(({ tag }) => tag === DT_FLAGS_1)?.value ?? 0;
  return {
    machine: MACHINES.get(u16(18)) ?? u16(18),
    needed: texts(DT_NEEDED),
    runPaths: texts(DT_RPATH, DT_RUNPATH),
    exported: exported.sort(),
    versions,
    staysLoaded: (flags & DF_1_NODELETE) !== 0,
    // Without the header a loader makes the stack executable.
    executableStack: stack === undefined || (u32(stack + 4) & PF_X) !== 0,
  };
}
