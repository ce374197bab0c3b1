// Runs the kernels' code on the host: for each launch on stdin (a line with the entry point, the tensor's width and
// height, the tiles or the jobs, and the bytes of source, output and table; then the job, in a batch the jobs, source,
// output as it was, table) the output on stdout. `divide D` instead checks all values of a divisor and prints how many
// are not those of a division, in fp32 and, for bytes, in fp16.
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "../../kernels/area.cuh"

namespace {

using namespace zerohop;
using Write = void (*)(const ImageJob&, const uint8_t*, void*, const void*, int, int, int);

struct Entry {
  Write write;
  int pixels;
  bool batch;
};

template <class Source, class Element, bool General>
void write_one(const ImageJob& job, const uint8_t* source, void* output, const void* table, int x, int y, int) {
  write_resized<Source, Element, General>(job, source, output, table, x, y);
}

template <class Source>
void write_mean(const ImageJob& job, const uint8_t* source, void* output, const void* table, int x, int y, int) {
  write_area<Source>(job, source, output, table, x, y);
}

template <class Source, class Element>
void add(std::map<std::string, Entry>& entries, const std::string& name) {
  entries["resized_" + name] = {write_one<Source, Element, false>, 1, false};
  entries["direct_" + name] = {write_direct<Source, Element>, Element::kGroup, false};
  entries["batch_" + name] = {write_one<Source, Element, true>, 1, true};
}

template <class Source>
void add_all(std::map<std::string, Entry>& entries, const std::string& name) {
  add<Source, Float32>(entries, name + "_f32");
  add<Source, Float16>(entries, name + "_f16");
  add<Source, Byte>(entries, name + "_u8");
  entries["area_" + name] = {write_mean<Source>, 1, true};
}

std::map<std::string, Entry> all_entries() {
  std::map<std::string, Entry> entries;
  add_all<Rgb8>(entries, "rgb8");
  add_all<Rgba8>(entries, "rgba8");
  add_all<Gray8>(entries, "gray8");
  add_all<Planar8>(entries, "planar8");
  add_all<Nv12>(entries, "nv12");
  add_all<Bayer<uint8_t>>(entries, "bayer8");
  add_all<Bayer<uint16_t>>(entries, "bayer16");
  add_all<Deep<1>>(entries, "gray16");
  add_all<Deep<3>>(entries, "rgb16");
  return entries;
}

/** Bytes at an address that is a multiple of 16, as the device's allocations are. */
std::vector<uint64_t> read_bytes(size_t count) {
  std::vector<uint64_t> bytes(count / 8 + 2);
  std::cin.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
  return bytes;
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
  const std::map<std::string, Entry> entries = all_entries();
  std::string name;
  while (std::cin >> name) {
    if (name == "divide") {
      int divisor;
      std::cin >> divisor;
      check_division(divisor);
      continue;
    }
    int width, height, tiles;
    size_t source_bytes, output_bytes, table_bytes;
    std::cin >> width >> height >> tiles >> source_bytes >> output_bytes >> table_bytes;
    std::cin.get();
    const Entry& entry = entries.at(name);
    std::vector<ImageJob> jobs(entry.batch ? tiles : 1);
    std::cin.read(reinterpret_cast<char*>(jobs.data()), static_cast<std::streamsize>(jobs.size() * sizeof(ImageJob)));
    const std::vector<uint64_t> source = read_bytes(source_bytes);
    std::vector<uint64_t> output = read_bytes(output_bytes);
    const std::vector<uint64_t> table = read_bytes(table_bytes);
    for (int tile = 0; tile < tiles; tile++) {
      for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x += entry.pixels) {
          entry.write(jobs[entry.batch ? tile : 0], reinterpret_cast<const uint8_t*>(source.data()), output.data(),
                      table_bytes == 0 ? nullptr : table.data(), x, y, tile);
        }
      }
    }
    std::fwrite(output.data(), 1, output_bytes, stdout);
  }
  return 0;
}
