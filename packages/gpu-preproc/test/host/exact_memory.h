// Memory of exactly the bytes that a kernel may use, so that AddressSanitizer sees each access beyond them.
#pragma once

#include <sanitizer/asan_interface.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace zerohop {

/**
 * `bytes` of memory whose address is `phase` (0 to 15) more than a multiple of 16. The byte behind the last one may not be
 * accessed, nor those before the first one from the multiple of 8 below it on: that is as fine as AddressSanitizer is.
 */
class ExactMemory {
 public:
  ExactMemory(size_t bytes, size_t phase)
      : base_(static_cast<uint8_t*>(std::malloc(phase + bytes)), std::free), phase_(phase) {
    ASAN_POISON_MEMORY_REGION(base_.get(), phase / 8 * 8);
  }
  ~ExactMemory() { ASAN_UNPOISON_MEMORY_REGION(base_.get(), phase_ / 8 * 8); }
  ExactMemory(const ExactMemory&) = delete;
  ExactMemory& operator=(const ExactMemory&) = delete;

  uint8_t* data() const { return base_.get() + phase_; }

 private:
  std::unique_ptr<uint8_t, void (*)(void*)> base_;
  size_t phase_;
};

}  // namespace zerohop
