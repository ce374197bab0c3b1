// A piece of mapped shared memory, unmapped when the last holder lets go.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace zerohop {

class Mapping {
 public:
  // `base`/`length` is what mmap gave; `data`/`size` the asked-for part of it, which need not start on a page.
  Mapping(void* base, size_t length, void* data, size_t size) : base_(base), length_(length), data_(data), size_(size) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { munmap(base_, length_); }

  void* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void* base_;
  size_t length_;
  void* data_;
  size_t size_;
};

}  // namespace zerohop
