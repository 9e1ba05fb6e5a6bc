// SPDX-License-Identifier: Apache-2.0
#include "media/opencv_io.hpp"

#include <dlfcn.h>

#include <string>

#include "files/library_folder.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/version.hpp"

namespace vcap {
namespace {

const OpenCvIo* load() {
  const std::string name = "libvcap_opencv_io.so." + std::to_string(VCAP_VERSION_MAJOR) + "." +
                           std::to_string(VCAP_VERSION_MINOR);
  const std::string path =
      (folder_of_library(reinterpret_cast<const void*>(&load)) / name).string();
  // Never unloaded, like all native code.
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  using Get = const OpenCvIo* (*)();
  const auto get =
      handle == nullptr ? nullptr : reinterpret_cast<Get>(::dlsym(handle, "vcap_opencv_io_1"));
  if (get != nullptr) return get();
  const char* const why = ::dlerror();
  throw SourceError(ErrorCode::source_open,
                    "still images, webcams and annotated clips need the library " + path +
                        ", which cannot be loaded: " + (why != nullptr ? why : "unknown reason") +
                        "; install vcap again, with OpenCV's imgcodecs and videoio");
}

}  // namespace

WebcamDevice::~WebcamDevice() = default;
ClipWriter::~ClipWriter() = default;
OpenCvIo::~OpenCvIo() = default;

const OpenCvIo& opencv_io() {
  static const OpenCvIo* const io = load();
  return *io;
}

}  // namespace vcap
