/** Answers with what the model is told of the request, as JSON. */
export default ({ id, sequence, timeoutUs, parameters }) => {
  const told = { id, sequence: sequence.id, start: sequence.start, end: sequence.end, timeout: timeoutUs, parameters };
  return { OUTPUT0: { shape: [1], data: [json(told)] } };
};

/** As Python writes it: blanks behind colons and commas, whole numbers of any size. */
function json(value) {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object') return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, part]) => `${JSON.stringify(name)}: ${json(part)}`)
    .join(', ')}}`;
}
