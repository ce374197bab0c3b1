import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const kernels = new URL('../../backend/kernels/', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, kernels));

test.each(readdirSync(kernels).filter((name) => name.endsWith('.cu')))('%s is what its PTX was made from', (name) => {
  const ptx = read(name.replace(/\.cu$/, '.ptx')).toString();
  expect(ptx.split('\n')[0]).toContain(createHash('sha256').update(read(name)).digest('hex'));
  // An old driver refuses PTX newer than itself: CUDA 10.1's version, and the oldest GPU that nvcc 13 knows.
  expect(ptx).toContain('.version 6.4\n.target sm_75\n');
});
