import { fs, path as paths } from '../builtins.js';

/** A file of the driver in /dev that can't be used, and why: the system's name of the error, such as `ENOENT`. */
export interface UnusableFile {
  readonly path: string;
  readonly errno: string;
}

/** What decides why CUDA can't be used here, as far as a process without CUDA can see it. */
export interface MachineFacts {
  readonly platform: string;
  readonly arch: string;
  /** Node runs on musl (Alpine) instead of glibc. */
  readonly musl: boolean;
  /** The generation of the Windows Subsystem for Linux, 1 or 2; undefined elsewhere. */
  readonly wsl: 1 | 2 | undefined;
  /** A Tegra system: Jetson and its relatives. */
  readonly tegra: boolean;
  readonly container: boolean;
  /** The libcuda that is loaded in this process. */
  readonly library: string | undefined;
  /** `ZEROHOP_LIBCUDA`; empty when it is not set. */
  readonly override: string;
  /** `CUDA_VISIBLE_DEVICES`, which hides devices from CUDA. */
  readonly cudaVisibleDevices: string | undefined;
  /** `NVIDIA_VISIBLE_DEVICES`, by which NVIDIA's container runtime hands devices to a container. */
  readonly nvidiaVisibleDevices: string | undefined;
  /** NVIDIA's kernel module is loaded. */
  readonly kernelModule: boolean;
  /** The UUIDs of the GPUs which the kernel module drives. */
  readonly gpus: readonly string[];
  /** Of `/dev/nvidiactl`, `/dev/nvidia-uvm` and the GPUs' own files, those that can't be used. */
  readonly unusableFiles: readonly UnusableFile[];
  /** GPUs that can be partitioned (MIG), their GPU instances, and the files of those that can't be used. */
  readonly mig: { readonly gpus: number; readonly instances: number; readonly unusable: readonly UnusableFile[] };
}

/** Where to look. Tests give a folder of their own as `root`. */
export interface FactSources {
  readonly root?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly platform?: string;
  readonly arch?: string;
}

const PROC = 'proc/driver/nvidia';

function read(path: string): string {
  try {
    return fs.readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function list(path: string): string[] {
  try {
    return fs.readdirSync(path);
  } catch {
    return [];
  }
}

function errnoOf(attempt: () => void): string | undefined {
  try {
    attempt();
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'EIO';
  }
}

/** Opening shows more than access(2) does: a container whose device rules were lost still lists the file. */
function tryToOpen(path: string): void {
  fs.closeSync(fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_NONBLOCK));
}

function tryToAccess(path: string): void {
  fs.accessSync(path, fs.constants.R_OK | fs.constants.W_OK);
}

function unusable(root: string, path: string, attempt: (path: string) => void): UnusableFile[] {
  const errno = errnoOf(() => attempt(paths.join(root, path)));
  return errno === undefined ? [] : [{ path: `/${path}`, errno }];
}

function unusableFiles(root: string): UnusableFile[] {
  const gpus = list(paths.join(root, 'dev')).filter((name) => /^nvidia\d+$/.test(name));
  const files = [
    ...unusable(root, 'dev/nvidiactl', tryToOpen),
    ...unusable(root, 'dev/nvidia-uvm', tryToOpen),
    // Not opened: that would wake the GPU.
    ...gpus.flatMap((name) => unusable(root, `dev/${name}`, tryToAccess)),
  ];
  return gpus.length === 0 ? [...files, { path: '/dev/nvidia0', errno: 'ENOENT' }] : files;
}

function migFacts(root: string): MachineFacts['mig'] {
  const capabilities = paths.join(root, PROC, 'capabilities');
  const gpus = list(capabilities)
    .filter((name) => /^gpu\d+$/.test(name))
    .map((name) => paths.join(capabilities, name, 'mig'))
    .filter((folder) => fs.existsSync(folder));
  const instances = gpus.flatMap((folder) =>
    list(folder)
      .filter((name) => /^gi\d+$/.test(name))
      .map((name) => paths.join(folder, name, 'access')),
  );
  const minors = instances.flatMap((file) => /DeviceFileMinor:\s*(\d+)/.exec(read(file))?.[1] ?? []);
  return {
    gpus: gpus.length,
    instances: instances.length,
    unusable: minors.flatMap((minor) => unusable(root, `dev/nvidia-caps/nvidia-cap${minor}`, tryToAccess)),
  };
}

/**
 * Whether this is WSL, by its GPU device or its kernel's release.
 *
 * @internal
 */
export function wslGeneration(root = '/'): 1 | 2 | undefined {
  if (fs.existsSync(paths.join(root, 'dev/dxg'))) return 2;
  const release = /^Linux version (\S+)/.exec(read(paths.join(root, 'proc/version')))?.[1] ?? '';
  if (/microsoft-standard|wsl2/i.test(release)) return 2;
  return /-microsoft$/i.test(release) ? 1 : undefined;
}

function isTegra(root: string): boolean {
  return (
    fs.existsSync(paths.join(root, 'etc/nv_tegra_release')) ||
    read(paths.join(root, 'proc/device-tree/compatible')).includes('nvidia,tegra') ||
    /^tegra/i.test(read(paths.join(root, 'sys/devices/soc0/family'))) ||
    // What is left of it in a container.
    /^Linux version \S*-tegra\b/.test(read(paths.join(root, 'proc/version')))
  );
}

function isContainer(root: string, env: NonNullable<FactSources['env']>): boolean {
  return (
    fs.existsSync(paths.join(root, '.dockerenv')) ||
    fs.existsSync(paths.join(root, 'run/.containerenv')) ||
    env.KUBERNETES_SERVICE_HOST !== undefined
  );
}

/** Looks at the machine. Takes some ms at most, and is only for when CUDA failed. Never throws. */
export function gatherFacts(sources: FactSources = {}): MachineFacts {
  const { root = '/', env = process.env, platform = process.platform, arch = process.arch } = sources;
  // The loader that runs this process is mapped into it, and the driver once it is loaded.
  const maps = read(paths.join(root, 'proc/self/maps'));
  return {
    platform,
    arch,
    musl: /\/ld-musl-/.test(maps),
    wsl: wslGeneration(root),
    tegra: isTegra(root),
    container: isContainer(root, env),
    library: /(\/.*\/libcuda\.so[.\d]*)$/m.exec(maps)?.[1],
    override: env.ZEROHOP_LIBCUDA ?? '',
    cudaVisibleDevices: env.CUDA_VISIBLE_DEVICES,
    nvidiaVisibleDevices: env.NVIDIA_VISIBLE_DEVICES,
    kernelModule: fs.existsSync(paths.join(root, PROC, 'version')),
    gpus: list(paths.join(root, PROC, 'gpus')).flatMap(
      (bus) => /GPU UUID:\s*(\S+)/.exec(read(paths.join(root, PROC, 'gpus', bus, 'information')))?.[1] ?? bus,
    ),
    unusableFiles: unusableFiles(root),
    mig: migFacts(root),
  };
}
