// SPDX-License-Identifier: Apache-2.0
#include "media/opencv_io.hpp"

#include "files/own_library.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

const OpenCvIo* load() {
  const OwnFunction found = find_own_function("opencv_io", "vcap_opencv_io_3");
  if (found.address == nullptr)
    throw SourceError(
        ErrorCode::source_open,
        "no still image or webcam can be opened, and no picture stored: " + found.failure);
  return reinterpret_cast<const OpenCvIo* (*)()>(found.address)();
}

}  // namespace

WebcamDevice::~WebcamDevice() = default;
OpenCvIo::~OpenCvIo() = default;

const OpenCvIo& opencv_io() {
  static const OpenCvIo* const io = load();
  return *io;
}

}  // namespace vcap
