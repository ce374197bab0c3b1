const sequences = new Map();

/** Counts and adds up within a sequence. */
export default ({ inputs }) => {
  const [value, start, end, id] = ['INPUT0', 'START', 'END', 'CORRID'].map((name) => inputs[name].data[0]);
  const [count, total] = start ? [0, 0] : (sequences.get(id) ?? [0, 0]);
  sequences.set(id, [count + 1, total + value]);
  if (end) sequences.delete(id);
  return { OUTPUT0: { shape: [2], data: Int32Array.of(count + 1, total + value) } };
};
