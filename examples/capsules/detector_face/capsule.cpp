// SPDX-License-Identifier: Apache-2.0
//
// Finds faces that look into the camera, with a cascade of local binary patterns that travels
// inside the capsule.
#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <opencv2/objdetect.hpp>
#include <tuple>
#include <vcap/capsule.hpp>

namespace {

struct Face {
  cv::Rect box;
  int votes;  // how many windows around the face the cascade took for one
};
using Faces = std::vector<Face>;

// Rises with the votes and never gets to 1. Four of them, the fewest that OpenCV's usual
// minNeighbors of 3 lets through, make 0.5.
double confidence(const Face& face) { return face.votes / (face.votes + 4.0); }

// [load-model]
cv::CascadeClassifier load_cascade(const vcap::CapsuleFiles& files) {
  const std::string xml(files.text("face_cascade.xml"));
  const cv::FileStorage storage(xml, cv::FileStorage::READ | cv::FileStorage::MEMORY);
  cv::CascadeClassifier cascade;
  if (!cascade.read(storage.getFirstTopLevelNode()))
    throw std::runtime_error("face_cascade.xml is not a cascade that OpenCV can read");
  return cascade;
}
// [/load-model]

class Backend final : public vcap::BaseBackend<cv::Mat, Faces> {
 public:
  explicit Backend(cv::CascadeClassifier cascade) : cascade_(std::move(cascade)) {}

  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes,
                                     const vcap::OptionValues& options,
                                     vcap::BaseStreamState&) override {
    cv::Mat gray;
    cv::cvtColor(frame.image, gray, cv::COLOR_BGR2GRAY);
    const auto threshold = options.get<double>("threshold");
    vcap::DetectionNodes faces = vcap::DetectionNodes::all();
    for (const Face& face : predict(std::move(gray))) {
      if (confidence(face) < threshold) continue;
      faces.add({.name = "face",
                 .coords = vcap::rect_to_coords(face.box),
                 .extra_data = {{"detection_confidence", confidence(face)}}});
    }
    return faces;
  }

  // [batch]
  // A cascade keeps its scratch memory between calls and so serves one thread at a time. That is
  // what this function promises: one batch at a time, whatever the number of streams. Within one
  // image the cascade searches in parallel by itself.
  std::vector<Faces> batch_predict(std::span<const cv::Mat> images) override {
    std::vector<Faces> found;
    for (const cv::Mat& image : images) found.push_back(detect(image));
    return found;
  }
  // [/batch]

 private:
  Faces detect(const cv::Mat& image) {
    constexpr double scale = 1.1;
    constexpr int min_neighbors = 1;  // confidence() and the threshold do the rest
    constexpr int smallest_face = 30;
    std::vector<cv::Rect> boxes;
    std::vector<int> votes;
    cascade_.detectMultiScale(image, boxes, votes, scale, min_neighbors, 0,
                              {smallest_face, smallest_face});
    Faces faces;
    for (std::size_t i = 0; i < boxes.size(); ++i) faces.push_back({boxes[i], votes[i]});
    // The search is parallel and gives what it finds in no fixed order.
    std::ranges::sort(faces, {}, [](const Face& face) {
      return std::tuple(-face.votes, face.box.x, face.box.y, face.box.width);
    });
    return faces;
  }

  cv::CascadeClassifier cascade_;
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "detector_face",
            .version = 1,
            .description = "Finds faces seen from the front, at least 30 pixels wide",
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all,
                            .detections = {"face"},
                            .extra_data = {"detection_confidence"}},
            .options = vcap::common_detector_options()};
  }

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles& files,
                                              const std::string&) override {
    return std::make_unique<Backend>(load_cascade(files));
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
