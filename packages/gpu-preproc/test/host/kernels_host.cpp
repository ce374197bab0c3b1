// Runs the kernels' code on the host: for each launch on stdin (a line with the entry point; the tensor's width and
// height; the tiles or the jobs; the bytes of source, output and table; and how far the image's memory and the tensor's are
// from a multiple of 16. Then the job, in a batch the jobs, the source and the table) the output on stdout. A kernel has
// only those words of the source that hold a byte of what its job reads, and nothing around output and table.
// `divide D` instead checks all values of a divisor and prints how many are not those of a division, in fp32 and, for
// bytes, in fp16.
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "exact_memory.h"
#include "kernel_entries.h"

namespace {

using namespace zerohop;

void read_exactly(void* to, size_t bytes) {
  std::cin.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
}

struct Numbers {
  int width, height, tiles;
  size_t source_bytes, output_bytes, table_bytes, source_phase, output_phase;
};

/** The bytes that all jobs read of a source. */
Footprint reads_of(const Entry& entry, const std::vector<ImageJob>& jobs, const uint8_t* source) {
  Footprint all = entry.reads(jobs[0], source);
  for (const ImageJob& job : jobs) {
    const Footprint one = entry.reads(job, source);
    all = {std::min(all.start, one.start), std::max(all.end, one.end)};
  }
  return all;
}

/** Whether the jobs write the tensor from its first to its last element. */
bool fill_it(const Entry& entry, const std::vector<ImageJob>& jobs, const Numbers& n) {
  Elements all = written(jobs[0], n.height, entry.batch ? 1 : n.tiles);
  for (const ImageJob& job : jobs) all.end = std::max(all.end, written(job, n.height, entry.batch ? 1 : n.tiles).end);
  return all.start == 0 && all.end * element_bytes(entry, jobs[0]) == static_cast<int64_t>(n.output_bytes);
}

void launch(const Entry& entry) {
  Numbers n;
  std::cin >> n.width >> n.height >> n.tiles >> n.source_bytes >> n.output_bytes >> n.table_bytes >> n.source_phase >>
      n.output_phase;
  std::cin.get();
  std::vector<ImageJob> jobs(entry.batch ? n.tiles : 1);
  read_exactly(jobs.data(), jobs.size() * sizeof(ImageJob));
  std::vector<uint8_t> image(n.source_bytes);
  read_exactly(image.data(), image.size());
  if (!fill_it(entry, jobs, n)) {
    std::fprintf(stderr, "the jobs do not write the whole tensor, or more\n");
    std::exit(1);
  }

  const Footprint used = reads_of(entry, jobs, image.data());
  const size_t first = used.start - image.data();
  const size_t phase = (n.source_phase + first) % 16;
  const size_t before = phase % 4;
  const size_t words = (before + (used.end - used.start) + 3) / 4;
  const ExactMemory source(4 * words, phase - before);
  std::memset(source.data(), 0x5a, 4 * words);
  std::memcpy(source.data() + before, used.start, used.end - used.start);
  const ExactMemory output(n.output_bytes, n.output_phase);
  std::memset(output.data(), 0xc3, n.output_bytes);
  const ExactMemory table(n.table_bytes, 0);
  read_exactly(table.data(), n.table_bytes);

  // Where the image's memory would begin.
  const uint8_t* origin = source.data() + before - first;
  for (int z = 0; z < n.tiles; z++) {
    for (int y = 0; y < n.height; y++) {
      for (int x = 0; x < n.width; x += entry.pixels) {
        entry.write(jobs[entry.batch ? z : 0], origin, output.data(), n.table_bytes == 0 ? nullptr : table.data(), x, y,
                    z);
      }
    }
  }
  std::fwrite(output.data(), 1, n.output_bytes, stdout);
}

void check_division(int divisor) {
  int wrong = 0, wrong_half = 0;
  ImageJob job = {};
  job.divisor = static_cast<float>(divisor);
  job.reciprocal = static_cast<float>(1.0 / divisor);
  for (int v = 0; v <= divisor; v++) {
    const float quotient = static_cast<float>(v) / job.divisor;
    if (divide(v, job.divisor, job.reciprocal) != quotient) wrong++;
    if (divisor == 255 && half_bits(Float16::plain(job, v)) != half_bits(quotient)) wrong_half++;
  }
  std::printf("%d %d\n", wrong, wrong_half);
}

}  // namespace

int main() {
  std::string name;
  while (std::cin >> name) {
    if (name == "divide") {
      int divisor;
      std::cin >> divisor;
      check_division(divisor);
    } else {
      launch(all_entries().at(name));
    }
  }
  return 0;
}
