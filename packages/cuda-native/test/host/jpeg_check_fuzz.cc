// Damages a JPEG in many ways and lets it be checked, from memory of exactly its size so that a sanitizer sees every
// read beyond it. A file that passes must keep what nvJPEG relies on.
//
//   jpeg_check_fuzz FILE ROUNDS SEED
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "jpeg_check.h"

namespace {

std::vector<uint8_t> Read(const char* path) {
  std::vector<uint8_t> bytes;
  FILE* file = fopen(path, "rb");
  if (file == nullptr) return bytes;
  for (int byte = fgetc(file); byte != EOF; byte = fgetc(file)) bytes.push_back(static_cast<uint8_t>(byte));
  fclose(file);
  return bytes;
}

bool Fail(const char* what, int round) {
  fprintf(stderr, "%s in round %d\n", what, round);
  return false;
}

bool Check(const std::vector<uint8_t>& bytes, int round, int* passed) {
  // new[] of the size, and no more: a vector may have room behind its end.
  const std::unique_ptr<uint8_t[]> exact(new uint8_t[bytes.size()]);
  if (!bytes.empty()) memcpy(exact.get(), bytes.data(), bytes.size());
  zerohop::JpegFrame header;
  const zerohop::Status read = zerohop::ReadJpegHeader(exact.get(), bytes.size(), &header);
  if (memcmp(exact.get(), bytes.data(), bytes.size()) != 0) return Fail("the header's reader wrote", round);
  zerohop::JpegFrame frame;
  size_t used = 0;
  const zerohop::Status status = zerohop::PrepareJpeg(exact.get(), bytes.size(), &frame, &used);
  if (!status.ok()) {
    const std::string& reason = status.reason;
    const bool known = reason == "corrupt" || reason == "truncated" || reason == "unsupported";
    return known && !status.detail.empty() ? true : Fail("a reason is missing", round);
  }
  ++*passed;
  if (!read.ok()) return Fail("the header is refused, the file is not", round);
  if (used < 4 || used > bytes.size() || exact[used - 2] != 0xff || exact[used - 1] != 0xd9) {
    return Fail("the end is elsewhere", round);
  }
  if (frame.width < 1 || frame.height < 1 || (frame.count != 1 && frame.count != 3)) return Fail("the frame", round);
  if (zerohop::Unsupported(frame) != nullptr) return Fail("it is not supported", round);
  // What it has changed is sound as well.
  size_t again = 0;
  zerohop::JpegFrame second;
  if (!zerohop::PrepareJpeg(exact.get(), used, &second, &again).ok() || again != used) return Fail("again", round);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::vector<uint8_t> original = Read(argv[1]);
  const int rounds = atoi(argv[2]);
  std::mt19937 random(static_cast<unsigned>(atoi(argv[3])));
  const auto below = [&](size_t limit) { return limit == 0 ? 0 : random() % limit; };
  // Markers and lengths are where damage matters; most lie at the beginning.
  const auto place = [&](size_t size) { return below(random() % 4 == 0 ? size : std::min<size_t>(size, 700)); };
  int passed = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<uint8_t> bytes = original;
    for (size_t i = below(4); i > 0 && !bytes.empty(); --i) {
      const size_t at = place(bytes.size());
      switch (random() % 6) {
        case 0:
          bytes[at] = static_cast<uint8_t>(random());
          break;
        case 1:
          bytes[at] ^= static_cast<uint8_t>(1 << below(8));
          break;
        case 2:
          bytes.resize(at);
          break;
        case 3:
          bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(at));
          break;
        case 4:
          bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at), 0xff);
          break;
        default:
          bytes[at] = static_cast<uint8_t>(0xc0 + below(64));
      }
    }
    if (!Check(bytes, round, &passed)) return 1;
  }
  printf("%d of %d passed\n", passed, rounds);
  return 0;
}
