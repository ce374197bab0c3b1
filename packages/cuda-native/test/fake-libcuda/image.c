// What a module may be loaded from: PTX, a cubin, or a fatbin that holds several of these.
#define _GNU_SOURCE
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define FATBIN_MAGIC "\x50\xed\x55\xba"
#define EM_CUDA_DEVICE 190
// No image is larger; a size above it is damage.
#define MOST_BYTES ((size_t)256 << 20)

struct FatHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t bytes;
};

struct FatEntry {
  uint16_t kind;
  uint16_t version;
  uint32_t header_bytes;
  uint64_t bytes;
  uint32_t compressed_bytes;
  uint32_t options;
  uint16_t minor, major;
  uint32_t architecture;
};

enum { FAT_PTX = 1, FAT_ELF = 2 };

static bool readable(const void* data, size_t bytes) { return bytes <= MOST_BYTES && is_mapped(data, bytes); }

// A cubin runs on the same major architecture, same or higher minor; PTX on the same or any higher one.
static bool runs(uint32_t architecture, bool ptx) {
  const uint32_t device = COMPUTE_MAJOR * 10;
  return ptx ? architecture <= device : architecture / 10 == device / 10 && architecture <= device;
}

static CUresult keep(struct Image* image, const void* code, size_t bytes, bool ptx) {
  image->code = malloc(bytes + 1);
  if (image->code == NULL) return OUT_OF_MEMORY;
  memcpy(image->code, code, bytes);
  image->code[bytes] = '\0';
  image->bytes = bytes;
  image->ptx = ptx;
  return SUCCESS;
}

static uint32_t elf_architecture(const Elf64_Ehdr* header) {
  // From ABI 8 on it lies one byte higher.
  return header->e_ident[EI_ABIVERSION] >= 8 ? header->e_flags >> 8 & 0xff : header->e_flags & 0xff;
}

// The section headers; null when the file is damaged. `bytes` is 0 when it is not known.
static const Elf64_Shdr* sections(const Elf64_Ehdr* header, size_t bytes) {
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_CUDA_DEVICE) return NULL;
  if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shstrndx >= header->e_shnum) return NULL;
  const size_t end = header->e_shoff + (size_t)header->e_shnum * sizeof(Elf64_Shdr);
  if (header->e_shoff > MOST_BYTES || (bytes != 0 && end > bytes) || !readable(header, end)) return NULL;
  return (const Elf64_Shdr*)((const char*)header + header->e_shoff);
}

static CUresult read_elf(const Elf64_Ehdr* header, size_t bytes, struct Image* image) {
  if (!readable(header, sizeof *header)) return INVALID_IMAGE;
  const Elf64_Shdr* section = sections(header, bytes);
  if (section == NULL) return INVALID_IMAGE;
  if (!runs(elf_architecture(header), false)) return NO_BINARY_FOR_GPU;
  size_t end = header->e_shoff + (size_t)header->e_shnum * sizeof *section;
  for (int i = 0; i < header->e_shnum; ++i) {
    if (section[i].sh_type == SHT_NOBITS) continue;
    if (section[i].sh_offset > MOST_BYTES || section[i].sh_size > MOST_BYTES) return INVALID_IMAGE;
    const size_t section_end = section[i].sh_offset + section[i].sh_size;
    if (section_end > end) end = section_end;
  }
  if ((bytes != 0 && end > bytes) || !readable(header, end)) return INVALID_IMAGE;
  return keep(image, header, end, false);
}

static CUresult read_fatbin(const struct FatHeader* header, struct Image* image) {
  if (!readable(header, sizeof *header) || header->header_bytes < sizeof *header) return INVALID_IMAGE;
  if (!readable(header, header->header_bytes + header->bytes)) return INVALID_IMAGE;
  const char* at = (const char*)header + header->header_bytes;
  const char* end = at + header->bytes;
  const struct FatEntry* best = NULL;
  while (at < end) {
    const struct FatEntry* entry = (const struct FatEntry*)at;
    if ((size_t)(end - at) < sizeof *entry || entry->header_bytes < sizeof *entry) return INVALID_IMAGE;
    if (entry->header_bytes > (size_t)(end - at) || entry->bytes > (size_t)(end - at) - entry->header_bytes) {
      return INVALID_IMAGE;
    }
    if (entry->kind != FAT_PTX && entry->kind != FAT_ELF) return INVALID_IMAGE;
    if (runs(entry->architecture, entry->kind == FAT_PTX) && (best == NULL || entry->kind == FAT_ELF)) best = entry;
    at += entry->header_bytes + entry->bytes;
  }
  if (best == NULL) return NO_BINARY_FOR_GPU;
  // Nothing here unpacks code. To the caller it is as if there were none for this GPU, so that PTX is its next choice.
  if (best->compressed_bytes != 0) return NO_BINARY_FOR_GPU;
  const char* code = (const char*)best + best->header_bytes;
  if (best->kind == FAT_ELF) return read_elf((const Elf64_Ehdr*)code, best->bytes, image);
  return keep(image, code, strnlen(code, best->bytes), true);
}

CUresult read_image(const void* data, struct Image* image) {
  if (data == NULL || !is_mapped(data, 1)) return INVALID_VALUE;
  // Not all four bytes at once: a text may be shorter.
  if (strncmp(data, ELFMAG, SELFMAG) == 0) return read_elf(data, 0, image);
  if (strncmp(data, FATBIN_MAGIC, 4) == 0) return read_fatbin(data, image);
  const char* text = data;
  text += strspn(text, " \t\r\n");
  if (*text != '/' && *text != '.') return INVALID_IMAGE;
  return keep(image, data, strlen(data), true);
}

bool has_entry(const struct Image* image, const char* name) {
  if (image->ptx) return ptx_has_entry(image->code, name);
  const Elf64_Ehdr* header = (const Elf64_Ehdr*)image->code;
  const Elf64_Shdr* section = sections(header, image->bytes);
  const Elf64_Shdr* names = &section[header->e_shstrndx];
  for (int i = 0; i < header->e_shnum; ++i) {
    if (section[i].sh_name >= names->sh_size) continue;
    const char* found = image->code + names->sh_offset + section[i].sh_name;
    if (strncmp(found, ".text.", 6) == 0 && strcmp(found + 6, name) == 0) return true;
  }
  return false;
}
