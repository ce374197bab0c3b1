/** The sum and the difference of two INT32 tensors. */
export default ({ inputs: { INPUT0, INPUT1 } }) => ({
  OUTPUT0: { shape: INPUT0.shape, data: INPUT0.data.map((value, i) => value + INPUT1.data[i]) },
  OUTPUT1: { shape: INPUT0.shape, data: INPUT0.data.map((value, i) => value - INPUT1.data[i]) },
});
