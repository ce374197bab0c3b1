/** Returns its input. */
export default ({ inputs: { INPUT0 } }) => ({ OUTPUT0: INPUT0 });
