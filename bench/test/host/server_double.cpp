// The server's side of the backend API around one request at a time, and every combination of instance kind, operation,
// element count, where input and output lie, and in how many pieces the input comes. Prints what is wrong; silent when
// nothing is.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine.h"

struct TRITONSERVER_Error {
  std::string message;
};
struct Piece {
  const void* data;
  uint64_t byte_length;
};
struct TRITONBACKEND_Input {
  int datatype;
  std::vector<int64_t> shape;
  uint64_t byte_length;
  std::vector<Piece> pieces;
  int memory_type;
  int64_t memory_type_id;
};
struct TRITONBACKEND_Request {
  TRITONBACKEND_Input input;
  int output_memory_type;
  std::vector<float> output;
  std::string error;
  int answers = 0;
  int releases = 0;
  bool counted_as_success = false;
  bool times_in_order = false;
};
struct TRITONBACKEND_Response {
  TRITONBACKEND_Request* request;
};
struct TRITONBACKEND_Output {
  TRITONBACKEND_Request* request;
};

namespace {
void* instance_state = nullptr;
const char* model_name = "";
int instance_kind = kInstanceCpu;
TRITONBACKEND_Output output;
}  // namespace

using Error = TRITONSERVER_Error*;

extern "C" {
Error TRITONSERVER_ErrorNew(int, const char* message) { return new TRITONSERVER_Error{message}; }
void TRITONSERVER_ErrorDelete(Error error) { delete error; }
Error TRITONBACKEND_ApiVersion(uint32_t* major, uint32_t* minor) { return *major = 1, *minor = 0, nullptr; }
Error TRITONBACKEND_ModelName(TRITONBACKEND_Model*, const char** name) { return *name = model_name, nullptr; }
Error TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance*, TRITONBACKEND_Model** model) {
  return *model = nullptr, nullptr;
}
Error TRITONBACKEND_ModelInstanceKind(TRITONBACKEND_ModelInstance*, int* kind) { return *kind = instance_kind, nullptr; }
Error TRITONBACKEND_ModelInstanceDeviceId(TRITONBACKEND_ModelInstance*, int32_t* id) { return *id = 0, nullptr; }
Error TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance*, void** state) {
  return *state = instance_state, nullptr;
}
Error TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance*, void* state) {
  return instance_state = state, nullptr;
}
Error TRITONBACKEND_ModelInstanceReportStatistics(TRITONBACKEND_ModelInstance*, TRITONBACKEND_Request* request,
                                                  bool success, uint64_t start, uint64_t compute_start,
                                                  uint64_t compute_end, uint64_t end) {
  request->counted_as_success = success;
  request->times_in_order = start <= compute_start && compute_start <= compute_end && compute_end <= end;
  return nullptr;
}
Error TRITONBACKEND_ModelInstanceReportBatchStatistics(TRITONBACKEND_ModelInstance*, uint64_t, uint64_t, uint64_t,
                                                       uint64_t, uint64_t) {
  return nullptr;
}
Error TRITONBACKEND_RequestInputCount(TRITONBACKEND_Request*, uint32_t* count) { return *count = 1, nullptr; }
Error TRITONBACKEND_RequestInputByIndex(TRITONBACKEND_Request* request, uint32_t, TRITONBACKEND_Input** input) {
  return *input = &request->input, nullptr;
}
Error TRITONBACKEND_RequestRelease(TRITONBACKEND_Request* request, uint32_t flags) {
  request->releases += flags == kRequestReleaseAll ? 1 : 100;
  return nullptr;
}
Error TRITONBACKEND_InputProperties(TRITONBACKEND_Input* input, const char** name, int* datatype, const int64_t** shape,
                                    uint32_t* dims, uint64_t* byte_length, uint32_t* count) {
  *name = "INPUT0", *datatype = input->datatype, *shape = input->shape.data();
  *dims = static_cast<uint32_t>(input->shape.size()), *byte_length = input->byte_length;
  *count = static_cast<uint32_t>(input->pieces.size());
  return nullptr;
}
Error TRITONBACKEND_InputBuffer(TRITONBACKEND_Input* input, uint32_t index, const void** data, uint64_t* byte_length,
                                int* memory_type, int64_t* id) {
  *data = input->pieces[index].data, *byte_length = input->pieces[index].byte_length;
  *memory_type = input->memory_type, *id = input->memory_type_id;
  return nullptr;
}
Error TRITONBACKEND_ResponseNew(TRITONBACKEND_Response** response, TRITONBACKEND_Request* request) {
  return *response = new TRITONBACKEND_Response{request}, nullptr;
}
Error TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response* response, TRITONBACKEND_Output** made, const char*, int,
                                   const int64_t*, uint32_t) {
  output.request = response->request;
  return *made = &output, nullptr;
}
Error TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output* made, void** data, uint64_t byte_length, int* memory_type,
                                 int64_t* id) {
  made->request->output.assign(byte_length / sizeof(float), -1);
  *data = made->request->output.data(), *memory_type = made->request->output_memory_type, *id = 0;
  return nullptr;
}
Error TRITONBACKEND_ResponseSend(TRITONBACKEND_Response* response, uint32_t flags, Error error) {
  response->request->answers += flags == kResponseFinal ? 1 : 100;
  if (error) response->request->error = error->message;
  delete response;
  return nullptr;
}
Error TRITONBACKEND_Initialize(TRITONBACKEND_Backend*);
Error TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance*);
Error TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance*);
Error TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance*, TRITONBACKEND_Request**, uint32_t);
}  // extern "C"

namespace {

using zerohop_bench::kWindows;

bool IsAnswer(bool reduce, const std::vector<float>& input, const std::vector<float>& answer) {
  if (!reduce) return answer == input;
  if (answer.size() != kWindows) return false;
  for (uint64_t k = 0; k < kWindows; ++k) {
    double sum = 0;
    for (uint64_t i = k * input.size() / kWindows; i < ((k + 1) * input.size() + kWindows - 1) / kWindows; ++i) sum += input[i];
    if (sum != answer[k]) return false;
  }
  return true;
}

struct Combination {
  uint64_t elements;
  int input_memory_type;
  int64_t input_gpu;
  int output_memory_type;
  uint64_t pieces;
};

TRITONBACKEND_Request MakeRequest(const Combination& c, const std::vector<float>& values) {
  TRITONBACKEND_Request request;
  request.input = {kDatatypeFp32, {static_cast<int64_t>(c.elements)}, c.elements * sizeof(float), {}, c.input_memory_type, c.input_gpu};
  request.output_memory_type = c.output_memory_type;
  for (uint64_t piece = 0, at = 0; piece < c.pieces; ++piece) {
    const uint64_t count = piece + 1 == c.pieces ? c.elements - at : c.elements / c.pieces;
    request.input.pieces.push_back({values.data() + at, count * sizeof(float)});
    at += count;
  }
  return request;
}

void Check(const Combination& c) {
  const bool on_gpu = instance_kind == kInstanceGpu;
  const bool reduce = std::string(model_name).rfind("reduce", 0) == 0;
  std::vector<float> values(c.elements);
  for (float& value : values) value = static_cast<float>(std::rand() % 251);
  TRITONBACKEND_Request first = MakeRequest(c, values);
  TRITONBACKEND_Request second = MakeRequest(c, values);
  TRITONBACKEND_Request* requests[] = {&first, &second};
  TRITONBACKEND_ModelInstanceExecute(nullptr, requests, 2);
  // The CPU can't reach GPU memory, nor this GPU another one's.
  const bool refused = on_gpu ? c.input_memory_type == kMemoryGpu && c.input_gpu != 0
                              : c.input_memory_type == kMemoryGpu || c.output_memory_type == kMemoryGpu;
  for (const TRITONBACKEND_Request* request : requests) {
    const bool right = refused ? !request->error.empty() : request->error.empty() && IsAnswer(reduce, values, request->output);
    if (right && request->answers == 1 && request->releases == 1 && request->times_in_order &&
        request->counted_as_success == !refused) {
      continue;
    }
    std::printf("kind %d, %s, %lu elements, input %d on %ld, output %d, %lu pieces: answers %d, releases %d, '%s'\n",
                instance_kind, model_name, c.elements, c.input_memory_type, c.input_gpu, c.output_memory_type, c.pieces,
                request->answers, request->releases, request->error.c_str());
  }
}

}  // namespace

int main() {
  if (TRITONBACKEND_Initialize(nullptr)) std::puts("the backend refuses API 1.0");
  for (int kind : {kInstanceGpu, kInstanceCpu}) {
    for (const char* name : {"reduce_test", "identity_test"}) {
      instance_kind = kind;
      model_name = name;
      if (Error error = TRITONBACKEND_ModelInstanceInitialize(nullptr)) {
        std::printf("kind %d, %s: %s\n", kind, name, error->message.c_str());
        delete error;
        continue;
      }
      for (uint64_t elements : {1, 64, 4096, 6000, 100003}) {
        for (int input : {kMemoryCpu, kMemoryCpuPinned, kMemoryGpu}) {
          for (int64_t gpu : {0, 1}) {
            for (int out : {kMemoryCpu, kMemoryGpu}) {
              for (uint64_t pieces : {1, 3}) Check({elements, input, gpu, out, pieces});
            }
          }
        }
      }
      TRITONBACKEND_ModelInstanceFinalize(nullptr);
    }
  }
}
