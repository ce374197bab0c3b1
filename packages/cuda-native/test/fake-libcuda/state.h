// What the driver knows: contexts, blocks of memory, streams and their work, events, modules, graphs. One mutex guards
// all of it; functions here are called with it held unless they say otherwise.
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "fake_cuda.h"
#include "kernel_library.h"

extern pthread_mutex_t driver_mutex;
// Broadcast when work is over or a context is lost.
extern pthread_cond_t driver_changed;

static inline void lock(void) { pthread_mutex_lock(&driver_mutex); }
static inline void unlock(void) { pthread_mutex_unlock(&driver_mutex); }
// For returning from a function that holds the mutex.
static inline CUresult unlocked(CUresult result) {
  unlock();
  return result;
}

// What is counted (names in objects.c). The last ones are those of the fake nvJPEG.
enum Kind { MEMORY, IPC, PINNED, REGISTERED, STREAM, EVENT, MODULE, FUNCTION, GRAPH, EXEC, JPEG, KINDS };

struct Context {
  int ordinal;
  // The error that lost it.
  atomic_int lost;
  // The first error that work ended with; the calls that ask for completion report it.
  CUresult failed;
  // Bytes of device memory allocated.
  size_t used;
  long live[KINDS];
  // Pieces of work enqueued and not over.
  long pending;
  bool peers[MAX_DEVICES];
};

// The primary contexts that were ever retained.
extern struct Context contexts[MAX_DEVICES];

// What a handle points at begins with this.
struct Object {
  struct Object* next;
  enum Kind kind;
  CUcontext context;
  // Never used twice, while addresses are.
  unsigned long long serial;
};

void add_object(struct Object* object, enum Kind kind, CUcontext context);
void remove_object(struct Object* object);
// Whether `handle` is that kind of live object; it may be anything.
bool is_object(const void* handle, enum Kind kind);
unsigned long long next_serial(void);
// Counts objects of a context and brings the report up to date.
void count(CUcontext context, enum Kind kind, long change);
void write_report(void);

// Memory: a node of a tree ordered by address (blocks.c).
struct Block {
  struct Block* left;
  struct Block* right;
  unsigned priority;
  enum Kind kind;
  char* base;
  size_t bytes;
  // A memfd once the memory has been exported or opened, else -1.
  int fd;
  unsigned long long nonce;
  unsigned long long serial;
  CUcontext context;
  // Pieces of pending work that use it.
  int users;
};

// Takes over a copy of `block`; false when there is no memory for it.
bool add_block(struct Block block);
void remove_block(struct Block* block);
// The block that holds an address, or null.
struct Block* find_block(const void* address);
// Any block that has a byte in common with [address, address + bytes), or null.
struct Block* find_overlap(const void* address, size_t bytes);

// memory.c: removes a block of this kind that begins at `address`, and all that belongs to it; gives `unknown` where
// there is none, else `late`. Freeing what queued work still uses loses the context, so that a test
// notices. Takes the mutex.
CUresult take_block(CUcontext context, void* address, enum Kind kind, CUresult unknown, CUresult late);

// ipc.c: a new file whose name holds the nonce, or -1.
int make_memfd(unsigned long long* nonce);

// A part of memory that work uses.
struct Range {
  const char* start;
  size_t bytes;
  // Device memory of the context that uses it, page-locked host memory, or either, as kernels see it.
  enum { ON_DEVICE, ON_HOST, ANYWHERE } where;
  CUcontext context;
  // Found by resolve(); null when the range is not live.
  struct Block* block;
  unsigned long long serial;
};

// A point in a stream's work that was, or is to be, reached. Events and waits share them.
struct Record {
  int references;
  bool reached;
  // Of CLOCK_MONOTONIC.
  int64_t ns;
};

struct Record* new_record(void);
void release_record(struct Record* record);

// What a kernel may use: see kernel_library.h.
#define MAX_RANGES 10

struct Work {
  struct Work* next;
  enum { COPY, FILL, KERNEL, RECORD, WAIT, LAUNCH, CALL } kind;
  CUcontext context;
  struct Range ranges[MAX_RANGES];
  int range_count;
  // Holds a use of its ranges' blocks.
  bool pinned;
  union {
    // `height` rows of `width` bytes.
    struct {
      char* to;
      const char* from;
      size_t to_pitch, from_pitch, width, height;
    } copy;
    struct {
      char* to;
      int byte;
      size_t bytes;
    } fill;
    struct {
      CUfunction function;
      // Of the function when the launch was made.
      unsigned long long serial;
      struct Launch launch;
    } kernel;
    // RECORD and WAIT.
    struct Record* record;
    // LAUNCH: a graph's own copy of its nodes, run after `previous` was reached; marks `done`.
    struct {
      struct Work* nodes;
      struct Record* previous;
      struct Record* done;
    } graph;
    // CALL: work of the fake nvJPEG; `release` is called in any case.
    struct {
      void (*function)(void* argument);
      void (*release)(void* argument);
      void* argument;
    } call;
  };
};

// work.c
void add_range(struct Work* work, const void* start, size_t bytes, int where, CUcontext context);
// Finds the blocks of the ranges; false when one is not wholly live.
bool resolve(struct Work* work);
// A copy with its own references; null when there is no memory.
struct Work* clone_work(const struct Work* work);
struct Work* clone_all(const struct Work* work);
void pin(struct Work* work);
// Lets go of what a piece of work owns besides itself.
void drop_contents(struct Work* work);
void free_work(struct Work* work);
void free_all(struct Work* work);
// Runs one piece; drops the mutex meanwhile.
void run_work(struct Work* work);
// Enters into the context that work of it ended with this error.
void fail_work(CUcontext context, CUresult code);
int64_t now_ns(void);
void sleep_us(long us);

struct Capture;

struct Stream {
  struct Object object;
  // In order; the first one is being run.
  struct Work* first;
  struct Work* last;
  // A thread serves it.
  bool running;
  // Destroyed; freed when its work is over.
  bool ending;
  int priority;
  // Capturing; the other members are capture.c's.
  struct Capture* capture;
  struct Stream* next_captured;
  unsigned long captured;
  bool unjoined;
};

struct Event {
  struct Object object;
  bool timing;
  // The last one that was made, or null.
  struct Record* record;
  // When that was made by a capture: its number, and the stream with the number of nodes it had then.
  unsigned long long capture;
  CUstream stream;
  unsigned long position;
};

// stream.c: puts a copy of the work into the stream, or into its capture. Its ranges must be resolved. What work of
// kind LAUNCH or CALL owns is taken over, also on failure; a record is shared.
CUresult enqueue(CUstream stream, struct Work* work);
// Checks a stream that a call was given.
CUresult check_stream(CUcontext current, CUstream stream);
// Resolves, checks and enqueues; takes the mutex itself.
CUresult submit(CUcontext current, CUstream stream, struct Work* work);

// capture.c. The contents of a LAUNCH stay the caller's.
CUresult capture_work(CUstream stream, struct Work* work);
CUresult capture_record(CUstream stream, CUevent event);
// A wait that the stream or the event has in a capture.
CUresult capture_wait(CUstream stream, CUevent event);
void invalidate_capture(CUstream stream);
// Takes the stream, which is going, out of its capture.
void leave_capture(CUstream stream);
// For calls that a capture of this thread forbids; takes the mutex itself.
CUresult forbid_captures(void);

struct Graph {
  struct Object object;
  struct Work* nodes;
};

// modules
struct Function {
  struct Object object;
  // Of the same module.
  struct Function* next;
  CUmodule module;
  // Null when the fake driver cannot run it.
  const struct Kernel* kernel;
  int max_dynamic_shared;
  bool large_clusters;
  char name[];
};

// The code for the device within what was loaded.
struct Image {
  // Text ended by a NUL when it is PTX, else an ELF file.
  char* code;
  size_t bytes;
  bool ptx;
};

struct Module {
  struct Object object;
  struct Image image;
  struct Function* functions;
  // Launches that are pending.
  int users;
};

// image.c: takes the code for the device out of what is at `data`. None of these needs the mutex.
CUresult read_image(const void* data, struct Image* image);
// Whether it has an entry of this name.
bool has_entry(const struct Image* image, const char* name);
// memory.c: whether every page of it is mapped.
bool is_mapped(const void* memory, size_t bytes);
// ptx.c: judges a PTX module; on failure `log` says why.
CUresult check_ptx(const char* text, char* log, size_t log_bytes);
bool ptx_has_entry(const char* text, const char* name);

// kernels.c: null when there is no such kernel. With the mutex.
const struct Kernel* find_kernel(const char* name);
size_t argument_bytes(const struct Kernel* kernel);
