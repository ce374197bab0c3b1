// The kernels as a library for the fake driver: their own code, compiled by g++.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "../../../cuda-native/test/fake-libcuda/kernel_library.h"
#include "../../kernels/orient.cuh"
#include "../host/kernel_entries.h"

namespace {

using namespace zerohop;

constexpr int kIllegalAddress = 700;

struct ImageKernel : Kernel {
  Entry entry;
};

const Entry& entry_of(const Launch& launch) { return static_cast<const ImageKernel*>(launch.kernel)->entry; }

/** The arguments, as entry.cuh declares them. */
struct Single {
  ImageJob job;
  const uint8_t* source;
  void* output;
  const void* table;
};

struct Batch {
  ImageJobs batch;
  void* output;
  const void* table;
  // Nothing reads through them.
  const void* held[kBatch];
};

template <class Arguments>
const Arguments& arguments_of(const Launch& launch) {
  static_assert(sizeof(Arguments) <= MAX_ARGUMENT_BYTES);
  return *reinterpret_cast<const Arguments*>(launch.arguments);
}

void add(const Uses& uses, Footprint bytes) { uses.add(&uses, bytes.start, bytes.end - bytes.start); }

void add_table(const Uses& uses, const ImageJob& job, const void* table, int element_bytes) {
  if (table == nullptr) return;
  const int last = *std::max_element(job.table_offset, job.table_offset + 3);
  uses.add(&uses, table, (last + 256) * static_cast<size_t>(element_bytes));
}

void add_output(const Uses& uses, void* output, Elements elements, int element_bytes) {
  uint8_t* bytes = static_cast<uint8_t*>(output);
  add(uses, {bytes + elements.start * element_bytes, bytes + elements.end * element_bytes});
}

void single_ranges(const Launch* launch, const Uses* uses) {
  const Entry& entry = entry_of(*launch);
  const auto& [job, source, output, table] = arguments_of<Single>(*launch);
  add(*uses, entry.reads(job, source));
  add_output(*uses, output, written(job, launch->grid[1], launch->grid[2]), element_bytes(entry, job));
  add_table(*uses, job, table, element_bytes(entry, job));
}

void batch_ranges(const Launch* launch, const Uses* uses) {
  const Entry& entry = entry_of(*launch);
  const auto& [batch, output, table, held] = arguments_of<Batch>(*launch);
  Elements all = written(batch.jobs[0], launch->grid[1], 1);
  for (unsigned i = 0; i < std::min<unsigned>(launch->grid[2], kBatch); i++) {
    add(*uses, entry.reads(batch.jobs[i], nullptr));
    const Elements one = written(batch.jobs[i], launch->grid[1], 1);
    all = {std::min(all.start, one.start), std::max(all.end, one.end)};
  }
  const int bytes = element_bytes(entry, batch.jobs[0]);
  add_output(*uses, output, all, bytes);
  add_table(*uses, batch.jobs[0], table, bytes);
}

/** The threads of one z, row by row. */
void run_threads(const Launch& launch, const ImageJob& job, const uint8_t* source, void* output, const void* table,
                 int z) {
  const Entry& entry = entry_of(launch);
  const int64_t threads = static_cast<int64_t>(launch.grid[0]) * launch.block[0];
  const int64_t width = std::min<int64_t>(threads * entry.pixels, job.target_width);
  for (unsigned y = 0; y < launch.grid[1]; y++) {
    for (int64_t x = 0; x < width; x += entry.pixels) entry.write(job, source, output, table, x, y, z);
  }
}

int run_single(const Launch* launch) {
  const auto& [job, source, output, table] = arguments_of<Single>(*launch);
  for (unsigned z = 0; z < launch->grid[2]; z++) run_threads(*launch, job, source, output, table, z);
  return 0;
}

int run_batch(const Launch* launch) {
  const auto& [batch, output, table, held] = arguments_of<Batch>(*launch);
  if (launch->grid[2] > kBatch) return kIllegalAddress;
  for (unsigned z = 0; z < launch->grid[2]; z++) run_threads(*launch, batch.jobs[z], nullptr, output, table, z);
  return 0;
}

ImageKernel image_kernel(const std::string& name, const Entry& entry) {
  ImageKernel kernel = {};
  kernel.name = name.c_str();
  kernel.entry = entry;
  kernel.ranges = entry.batch ? batch_ranges : single_ranges;
  kernel.run = entry.batch ? run_batch : run_single;
  const unsigned short first = entry.batch ? sizeof(ImageJobs) : sizeof(ImageJob);
  kernel.parameter_count = entry.batch ? 3 + kBatch : 4;
  kernel.parameters[0] = {0, first};
  for (int i = 1; i < kernel.parameter_count; i++) {
    kernel.parameters[i] = {static_cast<unsigned short>(first + 8 * (i - 1)), 8};
  }
  return kernel;
}

struct Orient {
  OrientJob job;
  const uint8_t* source;
  uint8_t* output;
};

void orient_ranges(const Launch* launch, const Uses* uses) {
  const auto& [job, source, output] = arguments_of<Orient>(*launch);
  const uint8_t* first = source + job.source_offset;
  const int64_t rows = job.stored_height - 1, width = job.stored_width;
  add(*uses, {first, first + rows * job.pitch + 3 * width});
  add(*uses, {output, output + 3 * static_cast<int64_t>(job.width) * job.height});
}

/** Block by block, all threads up to the barrier first. */
int run_orient(const Launch* launch) {
  const auto& [job, source, output] = arguments_of<Orient>(*launch);
  const unsigned* block = launch->block;
  for (unsigned i = 0; i < launch->grid[0] * launch->grid[1]; i++) {
    const int left = i % launch->grid[0] * kTile, top = i / launch->grid[0] * kTile;
    OrientTile tile;
    for (unsigned t = 0; t < block[0] * block[1]; t++) {
      load_tile(job, source, tile, left, top, t % block[0], t / block[0]);
    }
    for (unsigned t = 0; t < block[0] * block[1]; t++) {
      store_tile(job, output, tile, left, top, t % block[0], t / block[0]);
    }
  }
  return 0;
}

int nothing(const Launch*) { return 0; }

/** Those that take no image job. */
constexpr Kernel kOthers[] = {
    {"empty", 0, {}, nullptr, nothing},
    {"orient_rgb8", 3, {{0, sizeof(OrientJob)}, {40, 8}, {48, 8}}, orient_ranges, run_orient},
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const Kernel* fakeKernel(const char* name) {
  static const std::map<std::string, ImageKernel> kernels = [] {
    std::map<std::string, ImageKernel> made;
    for (const auto& [key, entry] : all_entries()) made[key] = image_kernel(key, entry);
    return made;
  }();
  for (const Kernel& kernel : kOthers) {
    if (std::strcmp(name, kernel.name) == 0) return &kernel;
  }
  const auto found = kernels.find(name);
  return found == kernels.end() ? nullptr : &found->second;
}
