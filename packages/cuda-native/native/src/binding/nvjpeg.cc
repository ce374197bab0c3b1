#include "nvjpeg.h"

#include <cerrno>
#include <string>

#include "../core/jpeg_check.h"
#include "../core/memory.h"
#include "../core/nvjpeg_api.h"
#include "../core/nvjpeg_decoder.h"
#include "../core/nvjpeg_encoder.h"
#include "arguments.h"
#include "environment.h"
#include "errors.h"
#include "napi_setup.h"
#include "wrap.h"

namespace zerohop {

namespace {

// nvjpegLoad(library): `{ version, path }`
Napi::Value NvjpegLoad(const Napi::CallbackInfo& info) {
  NvjpegLibrary library;
  const Status status = LoadNvjpeg(info[0].As<Napi::String>(), &library);
  if (!status.ok()) {
    Throw(info.Env(), status);
    return Napi::Value();
  }
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("version", library.version);
  object.Set("path", library.path);
  return object;
}

// Loads nvJPEG and makes a coder, off the JS thread.
template <typename Coder, typename... Options>
Napi::Value Create(const Napi::CallbackInfo& info, Options... options) {
  const auto* context = Peek<Context>(info.Env(), info[0]);
  if (context == nullptr) return Napi::Value();
  const std::string wanted = info[1].As<Napi::String>();
  auto coder = std::make_shared<Coder>(context, options...);
  const auto work = [coder, wanted] {
    NvjpegLibrary library;
    Status status = LoadNvjpeg(wanted, &library);
    return status.ok() ? coder->Create() : status;
  };
  return Napi::Value(info.Env(), Async(info.Env(), work, [coder](napi_env env) { return Wrap(env, coder); }));
}

// jpegDecoderCreate(context, library, useEngines)
Napi::Value JpegDecoderCreate(const Napi::CallbackInfo& info) {
  return Create<JpegDecoder>(info, info[2].As<Napi::Boolean>().Value());
}

// jpegEncoderCreate(context, library)
Napi::Value JpegEncoderCreate(const Napi::CallbackInfo& info) { return Create<JpegEncoder>(info); }

template <typename Coder>
Napi::Value Destroy(const Napi::CallbackInfo& info) {
  auto coder = Unwrap<Coder>(info.Env(), info[0]);
  if (coder == nullptr) return Napi::Value();
  return Napi::Value(info.Env(), Async(info.Env(), [coder] { return coder->Destroy(); }));
}

Napi::Object Present(napi_env env, const JpegFrame& frame) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("width", frame.width);
  object.Set("height", frame.height);
  object.Set("components", frame.count);
  object.Set("subsampling", SubsamplingName(frame));
  object.Set("process", ProcessName(frame));
  object.Set("color", ColorName(frame));
  object.Set("bitsPerSample", frame.precision);
  return object;
}

// jpegHeader(bytes)
Napi::Value JpegHeader(const Napi::CallbackInfo& info) {
  const auto bytes = info[0].As<Napi::Uint8Array>();
  auto channel = Environment::Get(info.Env())->channel();
  auto frame = std::make_shared<JpegFrame>();
  const auto work = [frame, channel, data = bytes.Data(), size = bytes.ByteLength()] {
    JsMemoryGate::Access access(channel->js_memory());
    if (!access.allowed()) return Status::System("memcpy", ECANCELED, "the environment has ended");
    return ReadJpegHeader(data, size, frame.get());
  };
  const auto result = [frame](napi_env env) -> napi_value { return Present(env, *frame); };
  return Napi::Value(info.Env(), Async(info.Env(), work, result, {bytes}));
}

// The place in `memory`, of which `info` has offset, length, format and pitch from `first` on.
Pixels ReadPixels(const Napi::CallbackInfo& info, const DeviceMemory& memory, size_t first) {
  Pixels pixels;
  pixels.address = memory.address() + ToSize(info.Env(), info[first]);
  pixels.bytes = ToSize(info.Env(), info[first + 1]);
  pixels.format = ToInt(info.Env(), info[first + 2]);
  pixels.pitch = ToSize(info.Env(), info[first + 3]);
  return pixels;
}

// jpegDecode(decoder, bytes, dst, dstOffset, dstLength, format, pitch, stream | undefined)
Napi::Value JpegDecode(const Napi::CallbackInfo& info) {
  auto decoder = Unwrap<JpegDecoder>(info.Env(), info[0]);
  if (decoder == nullptr) return Napi::Value();
  const auto bytes = info[1].As<Napi::Uint8Array>();
  auto dst = Unwrap<DeviceMemory>(info.Env(), info[2]);
  if (dst == nullptr) return Napi::Value();
  const Pixels pixels = ReadPixels(info, *dst, 3);
  std::shared_ptr<Stream> stream;
  if (!info[7].IsUndefined()) {
    stream = Unwrap<Stream>(info.Env(), info[7]);
    if (stream == nullptr) return Napi::Value();
  }
  struct Outcome {
    JpegFrame frame;
    size_t pitch = 0;
  };
  auto outcome = std::make_shared<Outcome>();
  auto channel = Environment::Get(info.Env())->channel();
  const auto work = [decoder, dst, stream, pixels, outcome, channel, data = bytes.Data(), size = bytes.ByteLength()] {
    return decoder->Decode(data, size, channel->js_memory(), pixels, stream.get(), &outcome->frame, &outcome->pitch);
  };
  const auto result = [outcome](napi_env env) -> napi_value {
    Napi::Object object = Present(env, outcome->frame);
    object.Set("pitch", static_cast<double>(outcome->pitch));
    return object;
  };
  return Napi::Value(info.Env(), Async(info.Env(), work, result, {bytes}));
}

// jpegDecoderWait(decoder): for the end of the last decode
Napi::Value JpegDecoderWait(const Napi::CallbackInfo& info) {
  auto decoder = Unwrap<JpegDecoder>(info.Env(), info[0]);
  if (decoder == nullptr) return Napi::Value();
  bool over = false;
  const Status status = decoder->last().Query(&over);
  if (over || !status.ok()) return Napi::Value(info.Env(), Settled(info.Env(), status));
  return Napi::Value(info.Env(), AwaitOnLoop(info.Env(), decoder->context(), decoder->last().get(), [decoder] {}));
}

// jpegDecoderSynchronize(decoder): waits on one of the addon's threads, for when asking failed.
Napi::Value JpegDecoderSynchronize(const Napi::CallbackInfo& info) {
  auto decoder = Unwrap<JpegDecoder>(info.Env(), info[0]);
  if (decoder == nullptr) return Napi::Value();
  return Napi::Value(info.Env(), Async(info.Env(), [decoder] { return decoder->Synchronize(); }));
}

// jpegEncode(encoder, src, srcOffset, srcLength, format, pitch, width, height, quality, subsampling): the file's length
Napi::Value JpegEncode(const Napi::CallbackInfo& info) {
  auto encoder = Unwrap<JpegEncoder>(info.Env(), info[0]);
  if (encoder == nullptr) return Napi::Value();
  auto src = Unwrap<DeviceMemory>(info.Env(), info[1]);
  if (src == nullptr) return Napi::Value();
  const Pixels pixels = ReadPixels(info, *src, 2);
  JpegSettings settings;
  settings.width = ToInt(info.Env(), info[6]);
  settings.height = ToInt(info.Env(), info[7]);
  settings.quality = ToInt(info.Env(), info[8]);
  settings.subsampling = ToInt(info.Env(), info[9]);
  auto length = std::make_shared<size_t>(0);
  const auto work = [encoder, src, pixels, settings, length] { return encoder->Encode(pixels, settings, length.get()); };
  const auto result = [length](napi_env env) -> napi_value {
    return Napi::Number::New(env, static_cast<double>(*length));
  };
  return Napi::Value(info.Env(), Async(info.Env(), work, result));
}

// jpegEncoderTake(encoder, bytes): the file that jpegEncode made
Napi::Value JpegEncoderTake(const Napi::CallbackInfo& info) {
  auto encoder = Unwrap<JpegEncoder>(info.Env(), info[0]);
  if (encoder == nullptr) return Napi::Value();
  auto bytes = info[1].As<Napi::Uint8Array>();
  auto channel = Environment::Get(info.Env())->channel();
  const auto work = [encoder, channel, data = bytes.Data(), size = bytes.ByteLength()] {
    return encoder->Take(data, size, channel->js_memory());
  };
  return Napi::Value(info.Env(), Async(info.Env(), work, nullptr, {bytes}));
}

}  // namespace

void ExportNvjpeg(Napi::Env env, Napi::Object exports) {
  exports.Set("nvjpegLoad", Napi::Function::New<NvjpegLoad>(env, "nvjpegLoad"));
  exports.Set("jpegHeader", Napi::Function::New<JpegHeader>(env, "jpegHeader"));
  exports.Set("jpegDecoderCreate", Napi::Function::New<JpegDecoderCreate>(env, "jpegDecoderCreate"));
  exports.Set("jpegDecode", Napi::Function::New<JpegDecode>(env, "jpegDecode"));
  exports.Set("jpegDecoderWait", Napi::Function::New<JpegDecoderWait>(env, "jpegDecoderWait"));
  exports.Set("jpegDecoderSynchronize", Napi::Function::New<JpegDecoderSynchronize>(env, "jpegDecoderSynchronize"));
  exports.Set("jpegDecoderDestroy", Napi::Function::New<Destroy<JpegDecoder>>(env, "jpegDecoderDestroy"));
  exports.Set("jpegEncoderCreate", Napi::Function::New<JpegEncoderCreate>(env, "jpegEncoderCreate"));
  exports.Set("jpegEncode", Napi::Function::New<JpegEncode>(env, "jpegEncode"));
  exports.Set("jpegEncoderTake", Napi::Function::New<JpegEncoderTake>(env, "jpegEncoderTake"));
  exports.Set("jpegEncoderDestroy", Napi::Function::New<Destroy<JpegEncoder>>(env, "jpegEncoderDestroy"));
}

}  // namespace zerohop
