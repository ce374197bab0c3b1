// A look at PTX: enough to notice that it is damaged, for another architecture, or too new.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

static const char* const kInstructions =
    " abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx call clz"
    " cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 exit fence fma fns getctarank"
    " griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max mbarrier membar min mma"
    " mov movmatrix mul mul24 multimem nanosleep neg not or pmevent popc prefetch prefetchu prmt rcp red redux rem ret"
    " rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt st stackrestore stacksave stmatrix sub subc"
    " suld suq sured sust szext tanh tcgen05 tensormap testp tex tld4 trap txq vote wgmma wmma xor ";

struct Reader {
  const char* at;
  int line;
  char* log;
  size_t log_bytes;
};

static CUresult complain(const struct Reader* reader, CUresult code, const char* what, const char* word, int length) {
  snprintf(reader->log, reader->log_bytes, "ptx input, line %d: %s '%.*s'", reader->line, what, length, word);
  return code;
}

// Goes to the next character that is neither space nor comment; false at the end.
static bool skip(struct Reader* reader) {
  for (;;) {
    const char* at = reader->at;
    if (at[0] == '/' && at[1] == '/') {
      reader->at += strcspn(at, "\n");
    } else if (at[0] == '/' && at[1] == '*') {
      const char* end = strstr(at + 2, "*/");
      end = end == NULL ? at + strlen(at) : end + 2;
      for (; reader->at < end; ++reader->at) reader->line += *reader->at == '\n';
    } else if (isspace((unsigned char)*at)) {
      reader->line += *at == '\n';
      ++reader->at;
    } else {
      return *at != '\0';
    }
  }
}

static int word_length(const char* at) {
  int length = 0;
  while (isalnum((unsigned char)at[length]) || at[length] == '_' || at[length] == '$' || at[length] == '%') ++length;
  return length;
}

static bool is_instruction(const char* word, int length) {
  char wanted[32];
  if (length == 0 || length > 28) return false;
  snprintf(wanted, sizeof wanted, " %.*s ", length, word);
  return strstr(kInstructions, wanted) != NULL;
}

// To the end of the statement, or to the brace before it. An instruction's own braces hold the parts of a vector.
static bool finish(struct Reader* reader, bool instruction, bool* ended) {
  int depth = 0;
  *ended = false;
  for (; skip(reader); ++reader->at) {
    const char next = *reader->at;
    if (!isprint((unsigned char)next)) return false;
    if (next == '{' && !instruction) return true;
    if (next == '{') ++depth;
    if (next == '}' && --depth < 0) return true;
    if (next == ';') {
      ++reader->at;
      *ended = depth == 0;
      return true;
    }
  }
  return true;
}

// One statement of a body: a directive, or labels, a predicate, and an instruction.
static CUresult check_statement(struct Reader* reader) {
  bool ended;
  int length = word_length(reader->at);
  while (length > 0 && reader->at[length] == ':') {
    reader->at += length + 1;
    if (!skip(reader)) break;
    length = word_length(reader->at);
  }
  if (*reader->at == '{' || *reader->at == '}') return SUCCESS;
  if (strncmp(reader->at, ".loc", 4) == 0 || strncmp(reader->at, ".file", 5) == 0) {
    reader->at += strcspn(reader->at, "\n");
    return SUCCESS;
  }
  const bool directive = *reader->at == '.';
  if (*reader->at == '@') {
    reader->at += 1 + (reader->at[1] == '!');
    reader->at += word_length(reader->at);
    skip(reader);
    length = word_length(reader->at);
  }
  const char* word = reader->at;
  if (!directive && !is_instruction(word, length)) {
    return complain(reader, INVALID_PTX, "not an instruction:", word, length > 0 ? length : 1);
  }
  if (directive) ++reader->at;
  if (!finish(reader, !directive, &ended) || (!directive && !ended)) {
    return complain(reader, INVALID_PTX, "syntax error near", word, length);
  }
  return SUCCESS;
}

// All after the three directives that come first.
static CUresult check_rest(struct Reader* reader) {
  int depth = 0;
  char before = ';';
  while (skip(reader)) {
    const char next = *reader->at;
    if (!isprint((unsigned char)next)) return complain(reader, INVALID_PTX, "not a character of PTX:", "?", 1);
    if (next == '{' && before == '=') {
      // The values of a variable.
      reader->at += strcspn(reader->at, "}");
      if (*reader->at == '\0') break;
    } else if (next == '{') {
      ++depth;
    } else if (next == '}') {
      if (--depth < 0) return complain(reader, INVALID_PTX, "syntax error near", "}", 1);
    } else if (depth > 0) {
      RETURN_IF_FAILED(check_statement(reader));
      before = ';';
      continue;
    }
    before = next;
    ++reader->at;
  }
  if (depth > 0) return complain(reader, INVALID_PTX, "unexpected end of", "input", 5);
  return SUCCESS;
}

// CUDA 11.x knows PTX 7.x, 12.x 8.x, and so on.
static int newest_version(void) { return (driver_version() / 1000 - 4) * 10 + driver_version() % 1000 / 10; }

CUresult check_ptx(const char* text, char* log, size_t log_bytes) {
  struct Reader reader = {text, 1, log, log_bytes};
  int major;
  int minor;
  int architecture;
  int length = 0;
  if (!skip(&reader) || sscanf(reader.at, ".version %d.%d%n", &major, &minor, &length) != 2) {
    return complain(&reader, INVALID_PTX, "missing directive", ".version", 8);
  }
  if (major * 10 + minor > newest_version()) {
    return complain(&reader, UNSUPPORTED_PTX_VERSION, "unsupported", reader.at, length);
  }
  reader.at += length;
  if (!skip(&reader) || sscanf(reader.at, ".target sm_%d", &architecture) != 1) {
    return complain(&reader, INVALID_PTX, "missing directive", ".target", 7);
  }
  if (architecture > COMPUTE_MAJOR * 10) {
    return complain(&reader, NO_BINARY_FOR_GPU, "higher than the device's:", reader.at, (int)strcspn(reader.at, "\n"));
  }
  reader.at += strcspn(reader.at, "\n");
  if (!skip(&reader) || strncmp(reader.at, ".address_size 64", 16) != 0) {
    return complain(&reader, INVALID_PTX, "missing directive", ".address_size 64", 16);
  }
  reader.at += 16;
  return check_rest(&reader);
}

bool ptx_has_entry(const char* text, const char* name) {
  const size_t length = strlen(name);
  struct Reader reader = {text, 1, NULL, 0};
  while (length > 0 && skip(&reader)) {
    if (strncmp(reader.at, ".entry", 6) != 0) {
      ++reader.at;
      continue;
    }
    reader.at += 6;
    skip(&reader);
    if (strncmp(reader.at, name, length) == 0 && word_length(reader.at) == (int)length) return true;
  }
  return false;
}
