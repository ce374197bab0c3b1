// Preloaded into a benchmark program: SIGINT arrives in the very moment in which a pool has opened.
import { TensorPool } from '@zerohop/shm-pool';

const open = TensorPool.open;
TensorPool.open = async (...args) => {
  const pool = await open.apply(TensorPool, args);
  process.kill(process.pid, 'SIGINT');
  return pool;
};
