import { describe } from 'vitest';
import { argumentSuite } from './argument-suite.js';
import { copy2dSuite } from './copy2d-suite.js';
import { deviceSuite } from './device-suite.js';
import { eventSuite } from './event-suite.js';
import { graphSuite } from './graph-suite.js';
import { ipcSuite } from './ipc-suite.js';
import { kernelArgumentSuite } from './kernel-argument-suite.js';
import { kernelSuite } from './kernel-suite.js';
import { memorySuite } from './memory-suite.js';
import { moduleSuite } from './module-suite.js';
import { pinnedMemorySuite } from './pinned-memory-suite.js';
import { registerSuite } from './register-suite.js';
import { streamSuite } from './stream-suite.js';
import { wrapSuite } from './wrap-suite.js';

/** What holds on every device: run against the fake driver and against a real GPU, unchanged. */
export function deviceSuites(): void {
  describe('Device', deviceSuite);
  describe('DeviceMemory', memorySuite);
  describe('borrowed memory', wrapSuite);
  describe('IPC', ipcSuite);
  describe('Stream', streamSuite);
  describe('copies of rectangles', copy2dSuite);
  describe('PinnedMemory', pinnedMemorySuite);
  describe('registered shared memory', registerSuite);
  describe('Event', eventSuite);
  describe('Module', moduleSuite);
  describe('Kernel', kernelSuite);
  describe('arguments of kernels', kernelArgumentSuite);
  describe('Graph', graphSuite);
  describe('arguments', argumentSuite);
}
