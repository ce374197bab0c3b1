// A CUDA driver for machines without a GPU: the functions that the addon calls, on host memory. Device memory is a
// memfd, so that an IPC handle really is opened by another process and nothing is left when a process is killed. Each
// stream is a thread with a queue, so that enqueued work really is still to come. Misuse that a GPU would answer with
// silent corruption is an error here.
//
// Environment, read at every call so that a test can change it between calls:
//   ZEROHOP_FAKE_DEVICES       number of devices (2); 0 makes cuInit fail with CUDA_ERROR_NO_DEVICE
//   ZEROHOP_FAKE_MEMORY_MIB    memory of each device (1024)
//   ZEROHOP_FAKE_FAIL          "function=CUresult[,function=CUresult]": these calls fail; function as in our table
//   ZEROHOP_FAKE_WORK_FAIL     a CUresult: the next work that a stream runs fails with it
//   ZEROHOP_FAKE_WORK_DELAY_US each piece of work on a stream takes this much longer
//   ZEROHOP_FAKE_CALL_DELAY_US each call takes this much longer
//   ZEROHOP_FAKE_EXIT_DELAY_US the driver's own end, as the process exits, takes this long
//   ZEROHOP_FAKE_LOG           a file to which every call appends a line with its name, after "gone " once the driver ended
// Errors that lose the context (700 and the like) stay: every later call that needs a context fails the same way.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct Context* CUcontext;
typedef struct Stream* CUstream;
typedef struct Event* CUevent;
typedef struct {
  unsigned char bytes[16];
} CUuuid;
typedef struct {
  unsigned char reserved[64];
} CUipcMemHandle;

enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  INVALID_CONTEXT = 201,
  INVALID_HANDLE = 400,
  NOT_READY = 600,
  ILLEGAL_ADDRESS = 700,
};

#define MAX_DEVICES 8
#define EXPORT __attribute__((visibility("default")))

struct Context {
  int ordinal;
  // In bytes, of this process.
  size_t used;
};

// The long value of an environment variable.
long env_number(const char* name, long otherwise);

// What every function begins with: logs, delays, and gives the error that the environment asks for.
CUresult enter(const char* function);
// The same for functions that need a current context, which is stored.
CUresult enter_context(const char* function, CUcontext* context);

// Marks the context lost when `code` is such an error; gives `code` back.
CUresult sticky(CUresult code);

#define ENTER(function)                 \
  do {                                  \
    CUresult entered = enter(function); \
    if (entered != SUCCESS) return entered; \
  } while (0)

#define ENTER_CONTEXT(function, context)                  \
  do {                                                    \
    CUresult entered = enter_context(function, &(context)); \
    if (entered != SUCCESS) return entered;               \
  } while (0)

// Whether [address, address + bytes) is live device memory (`device`) or page-locked host memory.
bool is_live(const void* address, size_t bytes, bool device);
// Whether work still to be run uses any of [address, address + bytes).
bool in_flight(const void* address, size_t bytes);
// Waits for all streams of the process.
void drain_streams(void);
