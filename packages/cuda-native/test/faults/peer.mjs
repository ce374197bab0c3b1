// Exports memory, says how to open it, and keeps it until its stdin ends.
import { once } from 'node:events';
import { Device } from '../../dist/index.js';

const BYTE = 42;
const device = await Device.open(0);
const memory = await device.alloc(2 << 20, { exportable: true });
const stream = device.createStream();
stream.fill(memory, BYTE);
await stream.close();
const handle = memory.exportIpc();
process.stdout.write(JSON.stringify({ handle: { ...handle, rawHandle: [...handle.rawHandle] }, byte: BYTE }));
process.stdin.resume();
await once(process.stdin, 'end');
await memory.close();
