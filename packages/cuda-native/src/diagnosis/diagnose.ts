import { type Diagnosis, type Failure, IN_CONTAINER, quoted, WINDOWS_DRIVER } from './diagnosis.js';
import type { MachineFacts } from './machine-facts.js';
import { diagnoseFiles, diagnoseJetson, diagnoseNoDevice } from './no-device.js';

function diagnoseAddon(failure: Failure & { kind: 'addon' }, facts: MachineFacts): Diagnosis {
  const machine = `${facts.platform}-${facts.arch}`;
  if (facts.platform !== 'linux' || !['x64', 'arm64'].includes(facts.arch)) {
    return {
      reason: 'no-prebuild',
      what: `this package has no binary for ${machine}`,
      advice: 'Use Linux with glibc on x64 or arm64',
    };
  }
  if (facts.musl) {
    return {
      reason: 'musl',
      what: 'this is Node.js for musl (Alpine), where neither this package nor the NVIDIA driver runs',
      advice: 'Use an image with glibc, such as node:22-bookworm-slim in place of node:22-alpine',
    };
  }
  if (!failure.installed) {
    return {
      reason: 'no-prebuild',
      what: `the binary for ${machine} is missing from this installation`,
      advice:
        'Install the package again, with the folder native/prebuilds; in a clone run ' +
        '"pnpm --filter @zerohop/cuda-native build:native"',
    };
  }
  const what = `the addon did not load: ${failure.text}`;
  if (/GLIBC(XX)?_/.test(failure.text)) {
    return { reason: 'addon-failed', what, advice: 'Use a distribution with glibc 2.28 or newer' };
  }
  if (/failed to map segment|Operation not permitted/.test(failure.text)) {
    return {
      reason: 'addon-failed',
      what,
      advice: 'Install the package on a file system from which programs may run (not mounted noexec)',
    };
  }
  return {
    reason: 'addon-failed',
    what,
    advice: 'Install the package again, and leave it external when you bundle; `cause` has the whole error',
  };
}

function diagnoseNotLoaded(tried: readonly string[], facts: MachineFacts): Diagnosis {
  if (facts.override !== '') {
    return {
      reason: 'no-driver',
      what: `the library that ZEROHOP_LIBCUDA names, ${quoted(facts.override)}, could not be loaded`,
      advice: 'Correct ZEROHOP_LIBCUDA or unset it; `tried` has the error',
    };
  }
  if (facts.wsl === 1) {
    return {
      reason: 'wsl2',
      what: 'this is WSL 1, which has no GPU',
      advice: 'Convert the distribution with wsl --set-version NAME 2',
    };
  }
  if (facts.wsl === 2) {
    return { reason: 'wsl2', what: 'WSL shows no libcuda.so.1', advice: WINDOWS_DRIVER };
  }
  if (facts.tegra) {
    return {
      reason: 'jetson',
      what: 'this Jetson shows no libcuda.so.1',
      advice: facts.container
        ? 'Start the container with --runtime nvidia'
        : "Install JetPack's driver (the package nvidia-l4t-cuda) and run sudo ldconfig",
    };
  }
  const broken = tried.find((line) => !/No such file or directory/.test(line));
  const what =
    broken === undefined ? 'libcuda.so.1 was not found' : `libcuda.so.1 could not be loaded (${broken.slice(0, 300)})`;
  if (facts.container) return { reason: 'no-driver', what, advice: IN_CONTAINER };
  if (facts.kernelModule) {
    return {
      reason: 'no-driver',
      what: `${what}, though the NVIDIA kernel module is loaded`,
      advice:
        "Install the CUDA part of the driver (libcuda1, libnvidia-compute-… or nvidia-driver-cuda), of the module's version",
    };
  }
  return {
    reason: 'no-driver',
    what,
    advice: `Install the NVIDIA driver (470 or newer). ${IN_CONTAINER}`,
  };
}

/** The statuses of cuInit which say by themselves what is wrong. */
const BY_STATUS: Readonly<Record<number, Pick<Diagnosis, 'reason' | 'advice'>>> = {
  34: {
    reason: 'stub-driver',
    advice: "Take the toolkit's folder lib64/stubs, which is for linking only, out of LD_LIBRARY_PATH",
  },
  802: {
    reason: 'not-ready',
    advice:
      "Start the service nvidia-fabricmanager, of the driver's version (machines with NVSwitch); under confidential " +
      'computing set the GPUs ready (nvidia-smi conf-compute -srs 1)',
  },
  803: {
    reason: 'driver-mismatch',
    advice:
      'The loaded kernel module and libcuda are of different driver versions: restart the machine or the container',
  },
  804: {
    reason: 'compat-unsupported',
    advice:
      "CUDA's forward compatibility does not support this GPU: remove the package cuda-compat (or its folder from " +
      'LD_LIBRARY_PATH), or update the driver',
  },
};

function diagnoseInit({ status, text }: Failure & { kind: 'init' }, facts: MachineFacts): Diagnosis {
  const what = status === 34 ? `${facts.library ?? 'the library'} is a stub, not a driver` : text;
  const known = BY_STATUS[status];
  if (known !== undefined) return { ...known, what };
  if (status >= 805 && status <= 809) {
    return {
      reason: 'mps',
      what,
      advice:
        'Look at the Multi-Process Service: is nvidia-cuda-mps-control running, is CUDA_MPS_PIPE_DIRECTORY its folder',
    };
  }
  if (status === 100) return diagnoseNoDevice(what, facts);
  if (facts.wsl !== undefined) return { reason: 'wsl2', what, advice: WINDOWS_DRIVER };
  if (facts.tegra) return diagnoseJetson(what, facts);
  const files = diagnoseFiles(facts, what);
  if (files !== undefined) return files;
  return {
    reason: 'init-failed',
    what,
    advice:
      status === 2
        ? 'Raise the limits on memory: the driver reserves much address space (ulimit -v)'
        : 'Look at nvidia-smi and the kernel log',
  };
}

/** Why CUDA can't be used, and what to do. Looks at nothing but its arguments. */
export function diagnose(failure: Failure, facts: MachineFacts): Diagnosis {
  switch (failure.kind) {
    case 'addon':
      return diagnoseAddon(failure, facts);
    case 'not-loaded':
      return diagnoseNotLoaded(failure.tried, facts);
    case 'missing-symbol':
      if (failure.symbol !== 'cuInit') {
        return {
          reason: 'driver-too-old',
          what: `the driver has no ${failure.symbol}`,
          advice: 'Update the NVIDIA driver (470 or newer)',
        };
      }
      return {
        reason: 'no-driver',
        what: `${facts.override === '' ? (facts.library ?? 'libcuda.so.1') : quoted(facts.override)} is no CUDA driver (it has no cuInit)`,
        advice: facts.override === '' ? 'Install the NVIDIA driver again' : 'Correct ZEROHOP_LIBCUDA or unset it',
      };
    case 'init':
      return diagnoseInit(failure, facts);
    case 'none-listed':
      return diagnoseNoDevice('the driver lists no device', facts);
    case 'no-such-device':
      return {
        reason: 'no-device',
        what: failure.text,
        advice: 'Take one of these; CUDA_VISIBLE_DEVICES decides which there are and their order',
      };
    case 'query':
      return { reason: 'init-failed', what: failure.text, advice: 'Look at nvidia-smi and the kernel log' };
  }
}
