/** Tells what parameters a request has, as JSON, and its input as it came. */
export default ({ inputs: { INPUT0 }, parameters }) => ({
  PARAMETERS: { shape: [1], data: [json(parameters)] },
  OUTPUT0: INPUT0,
});

/** As Python writes it: blanks behind colons and commas, whole numbers of any size. */
function json(value) {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object') return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, part]) => `${JSON.stringify(name)}: ${json(part)}`)
    .join(', ')}}`;
}
