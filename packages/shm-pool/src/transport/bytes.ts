/** Tensors in the messages: works with every server that can be reached. */
import { checkSlots, checkTensors, hostMemory, message } from '../capacity.js';
import { messageMemory, type SlotMemoryFactory } from '../slot-memory.js';
import type { TransportOptions } from './options.js';

export function openBytes({ plan: { current: plan }, slots }: TransportOptions): SlotMemoryFactory {
  const { inputs, outputs, inputByteLength, byteLength } = plan;
  checkTensors(inputs, inputByteLength, message);
  checkTensors(outputs, byteLength - (outputs[0]?.byteOffset ?? byteLength), message);
  checkSlots(slots, inputByteLength, hostMemory());
  return {
    transport: 'bytes',
    kind: 'host',
    evidence: 'tensors travel in the messages',
    checkRoom: (more, size) => checkSlots(size + more, inputByteLength, hostMemory()),
    create: () => Promise.resolve(messageMemory(plan)),
  };
}
