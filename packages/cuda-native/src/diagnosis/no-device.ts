import { type Diagnosis, IN_CONTAINER, quoted, WINDOWS_DRIVER } from './diagnosis.js';
import type { MachineFacts, UnusableFile } from './machine-facts.js';

const NO_PERMISSION =
  'Give this user read and write permission on it (as a rule, membership of the group video or render)';

function several(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The first entry of CUDA_VISIBLE_DEVICES decides whether there is any device: nothing after an invalid one counts. */
function firstVisible(facts: MachineFacts): string | undefined {
  return facts.cudaVisibleDevices?.split(',')[0]?.trim();
}

function diagnoseHiding(facts: MachineFacts): Diagnosis | undefined {
  const first = firstVisible(facts);
  if (first === undefined || (first !== '' && !/^-\d/.test(first))) return undefined;
  return {
    reason: 'devices-hidden',
    what: `CUDA_VISIBLE_DEVICES is ${quoted(facts.cudaVisibleDevices ?? '')}, which hides every GPU`,
    advice: 'Unset it, or name a GPU',
  };
}

/** What CUDA_VISIBLE_DEVICES names, when that is no GPU of this machine. */
function diagnoseNaming(facts: MachineFacts): Diagnosis | undefined {
  const first = firstVisible(facts);
  if (first === undefined) return undefined;
  const set = `CUDA_VISIBLE_DEVICES is ${quoted(facts.cudaVisibleDevices ?? '')}`;
  const advice = 'Unset it, or take one that nvidia-smi -L lists';
  if (/^MIG-/i.test(first)) {
    return { reason: 'mig', what: `${set}, and there is no such MIG device for this process`, advice };
  }
  const named = /^\d+$/.test(first) ? facts.gpus[Number(first)] : facts.gpus.find((uuid) => uuid.startsWith(first));
  if (named !== undefined) return undefined;
  const known = facts.gpus.length === 0 ? '' : ` (this machine has ${facts.gpus.join(', ')})`;
  return { reason: 'devices-hidden', what: `${set}, and the driver finds no such GPU${known}`, advice };
}

export function diagnoseFiles(facts: MachineFacts, what: string): Diagnosis | undefined {
  if (!facts.kernelModule && !facts.container) {
    return {
      reason: 'no-kernel-module',
      what: `${what}, and the NVIDIA kernel module is not loaded`,
      advice:
        'Run sudo modprobe nvidia; when that fails, the kernel log says why (no NVIDIA GPU, Secure Boot, nouveau)',
    };
  }
  const [missing, closed] = [true, false].map((absent) =>
    facts.unusableFiles.find(({ errno }) => (errno === 'ENOENT') === absent),
  );
  if (missing !== undefined) {
    const hiddenByRuntime = /^(|void|none)$/.test(facts.nvidiaVisibleDevices ?? 'all');
    const because = hiddenByRuntime ? ` (NVIDIA_VISIBLE_DEVICES is ${quoted(facts.nvidiaVisibleDevices ?? '')})` : '';
    return {
      reason: 'no-device-files',
      what: `${what}, and ${missing.path} is not there${because}`,
      advice: facts.container
        ? `${IN_CONTAINER}${missing.path === '/dev/nvidia-uvm' ? '; on the host run sudo nvidia-modprobe -u -c 0 first' : ''}`
        : 'Run sudo nvidia-modprobe -u -c 0',
    };
  }
  return closed === undefined ? undefined : diagnoseClosed(closed, facts, what);
}

function diagnoseClosed(file: UnusableFile, facts: MachineFacts, what: string): Diagnosis {
  return {
    reason: 'no-permission',
    what: `${what}, and ${file.path} can't be opened (${file.errno})`,
    advice:
      facts.container && file.errno === 'EPERM'
        ? 'Start the container again: its device rules were lost (as after systemctl daemon-reload) or never given'
        : NO_PERMISSION,
  };
}

function diagnoseMig({ mig }: MachineFacts, what: string): Diagnosis | undefined {
  const [closed] = mig.unusable;
  if (mig.instances > 0 && closed !== undefined && mig.unusable.length === mig.instances) {
    return {
      reason: 'mig',
      what: `${what}, and ${closed.path}, which stands for a MIG instance, can't be used (${closed.errno})`,
      advice: 'Give this container or user an instance (docker run --gpus device=MIG-…), from nvidia-smi -L',
    };
  }
  if (mig.gpus > 0 && mig.instances === 0) {
    return {
      reason: 'mig',
      what: `${what}, and ${several(mig.gpus, 'GPU')} that can be in MIG mode ${mig.gpus === 1 ? 'has' : 'have'} no instance`,
      advice: 'Create one (sudo nvidia-smi mig -cgi 0 -C), or leave MIG mode (sudo nvidia-smi -mig 0)',
    };
  }
  return undefined;
}

export function diagnoseNoDevice(what: string, facts: MachineFacts): Diagnosis {
  const hiding = diagnoseHiding(facts);
  if (hiding !== undefined) return hiding;
  if (facts.wsl !== undefined) {
    const linuxDriver = facts.library !== undefined && !facts.library.startsWith('/usr/lib/wsl/');
    return {
      reason: 'wsl2',
      what: linuxDriver ? `${what}; ${facts.library} is not WSL's driver` : what,
      advice: WINDOWS_DRIVER,
    };
  }
  if (facts.tegra) return diagnoseJetson(what, facts);
  return (
    diagnoseFiles(facts, what) ??
    diagnoseNaming(facts) ??
    diagnoseMig(facts, what) ?? {
      reason: 'no-device',
      what:
        facts.gpus.length === 0
          ? `${what}, and the kernel module drives no GPU`
          : `${what}, though the kernel module drives ${several(facts.gpus.length, 'GPU')}`,
      advice: 'Look at nvidia-smi and the kernel log (an Xid or RmInitAdapter line: the GPU itself has failed)',
    }
  );
}

export function diagnoseJetson(what: string, facts: MachineFacts): Diagnosis {
  return {
    reason: 'jetson',
    what: `${what} on this Jetson`,
    advice: facts.container
      ? 'Start the container with --runtime nvidia'
      : 'Add this user to the groups video and render, and see that JetPack belongs to the flashed release',
  };
}
