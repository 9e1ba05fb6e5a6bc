// SPDX-License-Identifier: Apache-2.0
// Reads annotations of Pascal VOC. If they are accepted, texts are UTF-8, and boxes are finite and
// not turned around.
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "fuzz/fuzz.hpp"
#include "records/voc_file.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

/// A file in memory, since the reader takes a path.
class MemoryFile {
 public:
  MemoryFile() : fd_(::memfd_create("annotations", MFD_CLOEXEC)) { require(fd_ >= 0); }

  void set(std::span<const std::byte> bytes) const {
    require(::ftruncate(fd_, 0) == 0);
    require(::pwrite(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  const int fd_;
};

void require_utf8(const std::string& text) {
  require(vcap::find_invalid_utf8(text) == std::string::npos);
}

void require_sound(const vcap::DetectionNode& node) {
  require(!node.name.empty());
  require_utf8(node.name);
  const vcap::BoundingBox box = node.bbox();
  for (const double side : {box.x1, box.y1, box.x2, box.y2}) require(std::isfinite(side));
  require(box.x1 <= box.x2 && box.y1 <= box.y2);
  for (const auto& [category, value] : node.attributes) {
    require_utf8(category);
    require_utf8(value);
  }
  for (const vcap::DetectionNode& part : node.children) require_sound(part);
}

}  // namespace

FUZZ(bytes) {
  static const MemoryFile memory;
  memory.set(bytes);
  const vcap::VocFile file = vcap::read_voc_file(vcap::InputFile(memory.path()));
  require_utf8(file.folder);
  require_utf8(file.filename);
  require(file.size.width >= 0 && file.size.height >= 0);
  for (const vcap::DetectionNode& object : file.objects) require_sound(object);
  // What is left out goes into one message, so its names are bounded.
  constexpr std::size_t kMostKinds = 21, kLongestKind = 70;
  require(file.left_out.size() <= kMostKinds);
  for (const auto& [what, count] : file.left_out) require(what.size() <= kLongestKind && count > 0);
}
