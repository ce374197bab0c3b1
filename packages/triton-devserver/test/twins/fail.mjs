/** Refuses every request. The request parameter `how` says how: `response` (default) or `raise`. */
export default ({ parameters }) => {
  const error = new Error('This model always fails');
  throw parameters.how === 'raise' ? error : Object.assign(error, { code: 'INTERNAL' });
};
