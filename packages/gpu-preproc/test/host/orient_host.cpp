// Runs the orienting kernel's code on the host: for each launch on stdin (a line with the bytes of source and output; then
// the job, source, output as it was) the output on stdout.
#include <cstdio>
#include <iostream>
#include <vector>

#include "../../kernels/orient.cuh"

namespace {

using namespace zerohop;

template <class Work>
void each_thread(const Work& work) {
  for (int y = 0; y < kTileRows; y++) {
    for (int x = 0; x < kTile; x++) work(x, y);
  }
}

std::vector<uint8_t> read_bytes(size_t count) {
  std::vector<uint8_t> bytes(count);
  std::cin.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
  return bytes;
}

}  // namespace

int main() {
  size_t source_bytes, output_bytes;
  while (std::cin >> source_bytes >> output_bytes) {
    std::cin.get();
    OrientJob job;
    std::cin.read(reinterpret_cast<char*>(&job), sizeof job);
    const std::vector<uint8_t> source = read_bytes(source_bytes);
    std::vector<uint8_t> output = read_bytes(output_bytes);
    for (int top = 0; top < job.height; top += kTile) {
      for (int left = 0; left < job.width; left += kTile) {
        OrientTile tile;
        each_thread([&](int x, int y) { load_tile(job, source.data(), tile, left, top, x, y); });
        each_thread([&](int x, int y) { store_tile(job, output.data(), tile, left, top, x, y); });
      }
    }
    std::fwrite(output.data(), 1, output.size(), stdout);
  }
  return 0;
}
