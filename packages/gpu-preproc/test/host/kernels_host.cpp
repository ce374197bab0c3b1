// Runs the kernels' code on the host: for each launch on stdin (a line with the entry point, the tensor's width and
// height, the tiles, and the bytes of source, output and table; then job, source, output as it was, table) the output on
// stdout. `divide D` instead checks all values of a divisor and prints how many are not those of a division.
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "../../kernels/write.cuh"

namespace {

using namespace zerohop;
using Write = void (*)(const ImageJob&, const uint8_t*, void*, const void*, int, int, int);

struct Entry {
  Write write;
  int pixels;
};

template <class Source, class Element>
void add(std::map<std::string, Entry>& entries, const std::string& name) {
  entries["resized_" + name] = {write_resized<Source, Element>, 1};
  entries["direct_" + name] = {write_direct<Source, Element>, 4};
}

template <class Source>
void add_floats(std::map<std::string, Entry>& entries, const std::string& name) {
  add<Source, Float32>(entries, name + "_f32");
  add<Source, Float16>(entries, name + "_f16");
}

template <class Source>
void add_all(std::map<std::string, Entry>& entries, const std::string& name) {
  add_floats<Source>(entries, name);
  add<Source, Byte>(entries, name + "_u8");
}

std::map<std::string, Entry> all_entries() {
  std::map<std::string, Entry> entries;
  add_all<Rgb8>(entries, "rgb8");
  add_all<Rgba8>(entries, "rgba8");
  add_all<Gray8>(entries, "gray8");
  add_all<Planar8>(entries, "planar8");
  add_all<Nv12>(entries, "nv12");
  add_all<Bayer<uint8_t>>(entries, "bayer8");
  add_floats<Bayer<uint16_t>>(entries, "bayer16");
  add_floats<Deep<1>>(entries, "gray16");
  add_floats<Deep<3>>(entries, "rgb16");
  return entries;
}

/** Bytes at an address that is a multiple of 16, as the device's allocations are. */
std::vector<uint64_t> read_bytes(size_t count) {
  std::vector<uint64_t> bytes(count / 8 + 2);
  std::cin.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
  return bytes;
}

int check_division(int divisor) {
  int wrong = 0;
  const float reciprocal = 1.0f / static_cast<float>(divisor);
  for (int v = 0; v <= divisor; v++) {
    const float d = static_cast<float>(divisor);
    if (divide(v, d, reciprocal) != static_cast<float>(v) / d) wrong++;
  }
  return wrong;
}

}  // namespace

int main() {
  const std::map<std::string, Entry> entries = all_entries();
  std::string name;
  while (std::cin >> name) {
    if (name == "divide") {
      int divisor;
      std::cin >> divisor;
      std::printf("%d\n", check_division(divisor));
      continue;
    }
    int width, height, tiles;
    size_t source_bytes, output_bytes, table_bytes;
    std::cin >> width >> height >> tiles >> source_bytes >> output_bytes >> table_bytes;
    std::cin.get();
    ImageJob job;
    std::cin.read(reinterpret_cast<char*>(&job), sizeof job);
    const std::vector<uint64_t> source = read_bytes(source_bytes);
    std::vector<uint64_t> output = read_bytes(output_bytes);
    const std::vector<uint64_t> table = read_bytes(table_bytes);
    const Entry& entry = entries.at(name);
    for (int tile = 0; tile < tiles; tile++) {
      for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x += entry.pixels) {
          entry.write(job, reinterpret_cast<const uint8_t*>(source.data()), output.data(),
                      table_bytes == 0 ? nullptr : table.data(), x, y, tile);
        }
      }
    }
    std::fwrite(output.data(), 1, output_bytes, stdout);
  }
  return 0;
}
