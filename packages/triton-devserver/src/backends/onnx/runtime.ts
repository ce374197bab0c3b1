import { createRequire } from 'node:module';

const { resolve } = createRequire(import.meta.url);

/** The optional peer's file. @throws Error that names it when it is not installed */
export function runtimeFile(): string {
  try {
    return resolve('onnxruntime-node');
  } catch (cause) {
    throw new Error('An ONNX model needs the package onnxruntime-node, which is not installed: npm install it', {
      cause,
    });
  }
}
