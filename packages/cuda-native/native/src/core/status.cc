#include "status.h"

namespace zerohop {

Status Status::System(const char* call, int code, std::string detail) {
  Status status;
  status.source = Source::kSystem;
  status.code = code;
  status.call = call;
  status.detail = std::move(detail);
  return status;
}

Status Status::Unavailable(std::string reason, std::string detail) {
  Status status;
  status.source = Source::kUnavailable;
  status.reason = std::move(reason);
  status.detail = std::move(detail);
  return status;
}

Status Status::SharedMemory(const char* call, int code, std::string reason, std::string detail) {
  Status status = System(call, code, std::move(detail));
  status.source = Source::kSharedMemory;
  status.reason = std::move(reason);
  return status;
}

}  // namespace zerohop
