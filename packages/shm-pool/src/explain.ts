/**
 * Which copies remain between a caller's tensor and the model. Pure. What Triton's backends do is from its sources and
 * from measurements on 2.51: its input collector uses a request's buffer in place only where the backend allows its kind
 * of memory and device; its output responder copies each output once.
 */
import { type ModelFacts, runsOnCpu, runsOnGpu } from './model-facts.js';
import type { Transport } from './slot-memory.js';

export interface RemainingCopy {
  /** What is copied, and from where to where. */
  readonly copy: string;
  readonly where: 'client' | 'network' | 'server' | 'backend';
  readonly why: string;
  /** What would save it, where something does. */
  readonly remedy?: string;
}

export interface PathExplanation {
  readonly transport: Transport;
  readonly copies: readonly RemainingCopy[];
  /** The same in lines to print. */
  readonly text: string;
}

export interface Path {
  readonly transport: Transport;
  /** The server's ordinal of the GPU that holds the slots; for `cuda`. */
  readonly serverDeviceId: number | undefined;
  readonly facts: ModelFacts;
}

export function explainPath(path: Path): PathExplanation {
  const copies = [...ofClient(path), ...ofDevices(path), ...ofServer(path), ...ofBackend(path)];
  return { transport: path.transport, copies, text: textOf(path, copies) };
}

function ofClient({ transport }: Path): RemainingCopy[] {
  switch (transport) {
    case 'bytes':
      return [
        {
          copy: "every input into the request's message, and every output into the answer's",
          where: 'client',
          why: "with transport 'bytes' tensors travel in the messages; gRPC copies a large one several times",
          remedy: "transport 'system' or 'cuda', with the server on this host",
        },
        {
          copy: 'every message through a socket',
          where: 'network',
          why: 'the server gets and sends messages',
          remedy: "transport 'system' or 'cuda', with the server on this host",
        },
      ];
    case 'system':
      return [
        {
          copy: 'by write() and read() between your array and the block, on the JS thread',
          where: 'client',
          why: 'the block is in /dev/shm and your array is not',
          remedy: 'produce into and consume from block.memory',
        },
      ];
    case 'cuda':
      return [
        {
          copy: 'by write() and read() between your array and the GPU, through pinned memory',
          where: 'client',
          why: 'the block is device memory and your array is not',
          remedy: 'produce and consume on the GPU: kernels on lease.stream that use block.memory',
        },
      ];
  }
}

/** Between the memory of the slot and that of the model's instances. */
function ofDevices({ transport, serverDeviceId, facts }: Path): RemainingCopy[] {
  if (transport !== 'cuda') {
    // What a Python model is handed on the host it moves itself.
    if (!runsOnGpu(facts) || facts.takesHostInputs) return [];
    return [
      {
        copy: 'every input from the host to the GPU, and every output back',
        where: 'server',
        why: 'the instances run on a GPU and the tensors are in host memory, which is pageable',
        remedy: "transport 'cuda'",
      },
    ];
  }
  if (runsOnCpu(facts)) {
    return [
      {
        copy: 'every input from the GPU to the host, and every output back',
        where: 'server',
        why: 'the instances run on the CPU',
        remedy: "transport 'system', or instances of KIND_GPU",
      },
    ];
  }
  if (facts.takesHostInputs) return [];
  const others = [...new Set(facts.instances.flatMap(({ gpus }) => gpus))].filter((gpu) => gpu !== serverDeviceId);
  if (!runsOnGpu(facts) || others.length === 0) return [];
  return [
    {
      copy: `every input from GPU ${serverDeviceId} to GPU ${others.join(' or ')} of the server, and every output back, for requests that an instance there takes`,
      where: 'server',
      why: 'Triton does not route a request to the GPU that holds its tensors',
      remedy: `instance_group { gpus: [ ${serverDeviceId} ] }, and a model and a pool for each GPU`,
    },
  ];
}

/** What the server writes an output into. */
const placeOfOutputs = (transport: Transport) => (transport === 'bytes' ? "the answer's message" : 'the output block');

function ofServer({ transport, facts: { scheduling } }: Path): RemainingCopy[] {
  const copies: RemainingCopy[] = [];
  if (scheduling?.dynamicBatching) {
    copies.push({
      copy: 'the inputs of requests that are batched together, into one buffer',
      where: 'server',
      why: 'dynamic_batching is on, and the tensors of different requests do not lie side by side',
      remedy: 'batch in one request: shapes with the batch as their first dimension',
    });
  }
  if (scheduling?.responseCache) {
    copies.push({
      copy:
        transport === 'cuda'
          ? 'nothing from the cache, which never hits'
          : `a cached answer into ${placeOfOutputs(transport)}`,
      where: 'server',
      why:
        transport === 'cuda'
          ? 'response_cache is on, and inputs in GPU memory are not hashed: every request runs the model'
          : 'response_cache is on; inputs are read once more, for their hash',
      remedy: transport === 'cuda' ? "transport 'system' for cached answers" : 'response_cache { enable: false }',
    });
  }
  if (scheduling?.ensemble) {
    copies.push({
      copy: 'the tensors between the steps of the ensemble, where two steps run on different devices',
      where: 'server',
      why: 'the server allocates what one step hands to the next',
      remedy: 'instances of all steps on one device',
    });
  }
  return copies;
}

function ofBackend({ transport, facts }: Path): RemainingCopy[] {
  if (facts.scheduling?.ensemble) return [];
  const { backend } = facts;
  if (backend === 'python') return ofPython(transport, facts);
  const output: RemainingCopy = {
    copy: `every output once, from where the model left it into ${placeOfOutputs(transport)}`,
    where: 'backend',
    why: `backends as a rule let the model write where it likes${backend === '' ? '' : ` ('${backend}' too)`}`,
  };
  if (backend !== 'tensorrt') return [output];
  const input: RemainingCopy = {
    copy: "every input once, on the GPU, into the engine's bindings",
    where: 'backend',
    why: "the TensorRT backend binds buffers of its own, not the request's",
  };
  return [input, output];
}

function ofPython(transport: Transport, facts: ModelFacts): RemainingCopy[] {
  const stub: RemainingCopy = {
    copy: `every output from the model's process into ${placeOfOutputs(transport)}, and inputs in host memory the other way`,
    where: 'backend',
    why: 'the Python backend runs the model in a process of its own, with shared memory of its own',
    remedy: 'a native backend',
  };
  if (transport !== 'cuda' || !facts.takesHostInputs || runsOnCpu(facts)) return [stub];
  return [
    {
      copy: 'every input from the GPU to the host',
      where: 'backend',
      why: 'the Python backend hands its models host tensors unless told otherwise',
      remedy: "parameters { key: 'FORCE_CPU_ONLY_INPUT_TENSORS' value: { string_value: 'no' } } in the model's config",
    },
    stub,
  ];
}

function textOf({ transport, facts }: Path, copies: readonly RemainingCopy[]): string {
  const lines = copies.map(({ copy, where, why, remedy }) => {
    const end = remedy === undefined ? '' : `; instead: ${remedy}`;
    return `- ${where}: ${copy} (${why}${end})`;
  });
  if (facts.scheduling === undefined) {
    lines.push('- not known: batching, cache and sequences, since the client does not hand on the whole configuration');
  }
  return [`Model '${facts.model}' by '${transport}', copies that remain:`, ...lines].join('\n');
}
