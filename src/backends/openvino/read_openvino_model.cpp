// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/read_openvino_model.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "backends/onnx/onnx_header.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const ModelFile& file, const std::string& what) {
  throw EngineError(ErrorCode::unreadable_model, "model " + file.name + ": " + what);
}

ov::Tensor view(std::span<const std::byte> bytes) {
  // OpenVINO only reads the weights, but its tensors cannot be const.
  return {ov::element::u8, {bytes.size()}, const_cast<std::byte*>(bytes.data())};
}

/// A path to bytes in memory, with the ending of the model's file name. Some readers of OpenVINO
/// take only a path and look at its ending. The destructor removes the path.
class MemoryPath {
 public:
  MemoryPath(const ModelFile& file, const std::string& ending) {
    descriptor_ = ::memfd_create("vcap-model", MFD_CLOEXEC);
    if (descriptor_ < 0 || !write(file.bytes)) fail(file);
    make_folder(file);
    link_ = folder_ / ("model" + ending);
    std::error_code failed;
    fs::create_symlink("/proc/self/fd/" + std::to_string(descriptor_), link_, failed);
    if (failed) {
      errno = failed.value();
      fail(file);
    }
  }
  ~MemoryPath() { clear(); }
  MemoryPath(const MemoryPath&) = delete;
  MemoryPath& operator=(const MemoryPath&) = delete;

  const fs::path& path() const { return link_; }

 private:
  /// The folder holds only the link, so its place does not matter.
  void make_folder(const ModelFile& file) {
    std::error_code failed;
    const fs::path temporary = fs::temp_directory_path(failed);  // TMPDIR
    for (const fs::path& place : {temporary, fs::path("/dev/shm"), fs::path("/tmp")}) {
      std::string folder = (place / "vcap-model-XXXXXX").string();
      if (place.empty() || ::mkdtemp(folder.data()) == nullptr) continue;
      folder_ = folder;
      return;
    }
    fail(file);
  }
  bool write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return true;
  }
  [[noreturn]] void fail(const ModelFile& file) {
    const std::string why = std::generic_category().message(errno);
    clear();
    refuse(file, "cannot be put into memory for OpenVINO's reader: " + why +
                     "; set TMPDIR to a folder that can be written, or convert it to ONNX (.onnx)");
  }
  void clear() noexcept {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  int descriptor_ = -1;
  fs::path folder_, link_;
};

/// Keeps OpenVINO's libraries mapped until the process ends. A model contains objects whose code is
/// in the front end that read it. OpenVINO unloads its front ends when its own static objects are
/// destroyed, which may be before a capsule that a host keeps in a static object.
void keep_front_ends_mapped() {
  std::vector<std::string> paths;
  ::dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* found) {
        const std::string path = library->dlpi_name;
        if (path.find("libopenvino") != std::string::npos)
          static_cast<std::vector<std::string>*>(found)->push_back(path);
        return 0;
      },
      &paths);
  for (const std::string& path : paths)
    if (void* const handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE))
      ::dlclose(handle);
}

std::shared_ptr<ov::Model> read(ov::Core& core, const ModelFile& file) {
  if (file.bytes.empty()) refuse(file, "is empty; give the complete file");
  const std::string ending = fs::path(file.name).extension().string();
  const std::string text(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  if (ending == ".xml") {
    if (file.weights.empty())
      refuse(file, "is IR without its weights; give the .bin file as \"weights\"");
    return core.read_model(text, view(file.weights));
  }
  if (ending == ".onnx") {
    read_onnx_header(file);  // checks what OpenVINO's reader does not check
    return core.read_model(text, ov::Tensor());
  }
  if (ending == ".tflite" || ending == ".pb")
    return core.read_model(MemoryPath(file, ending).path());
  refuse(file,
         "has a file extension that OpenVINO does not read from memory; convert it to IR (.xml and "
         ".bin), ONNX (.onnx), TensorFlow Lite (.tflite) or a frozen graph (.pb)");
}

}  // namespace

std::shared_ptr<ov::Model> read_openvino_model(ov::Core& core, const ModelFile& file) {
  std::shared_ptr<ov::Model> model = read(core, file);
  keep_front_ends_mapped();
  return model;
}

}  // namespace vcap
