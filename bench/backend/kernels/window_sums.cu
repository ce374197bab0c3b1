// Sums of adaptive windows: out[k] = sum of in[floor(k·n / windows)] … in[ceil((k+1)·n / windows) - 1].
//
// One block of 256 threads per window, so the whole tensor is read once (two neighbours share at most one element) and
// each sum is added in one fixed order. 16-byte loads in the aligned middle of a window, single elements at its ends.

namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / 32;

__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    window_sums(const float* __restrict__ in, unsigned long long n, float* __restrict__ out,
                unsigned long long windows) {
  const unsigned long long k = blockIdx.x;
  const unsigned long long begin = k * n / windows;
  const unsigned long long end = ((k + 1) * n + windows - 1) / windows;
  const float* first = in + begin;
  const unsigned long long count = end - begin;

  // Elements before the first 16-byte boundary.
  unsigned long long head = (4 - (reinterpret_cast<unsigned long long>(first) / sizeof(float)) % 4) % 4;
  if (head > count) head = count;
  const unsigned long long quads = (count - head) / 4;
  const unsigned long long tail = head + quads * 4;

  float sum = 0;
  if (threadIdx.x < head) sum += first[threadIdx.x];
  const float4* body = reinterpret_cast<const float4*>(first + head);
#pragma unroll 4
  for (unsigned long long i = threadIdx.x; i < quads; i += kThreads) {
    const float4 quad = __ldg(body + i);
    sum += (quad.x + quad.y) + (quad.z + quad.w);
  }
  if (threadIdx.x < count - tail) sum += first[tail + threadIdx.x];

  __shared__ float partial[kWarps];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = warp_sum(threadIdx.x < kWarps ? partial[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) out[k] = sum;
  }
}
