// SPDX-License-Identifier: Apache-2.0
//
// Reads a line of text, in Chinese or Latin letters, with the recognizer of PP-OCRv4 (C. Li et al.,
// "PP-OCRv3: More Attempts for the Improvement of Ultra Lightweight OCR System", 2022).
#include <algorithm>
#include <array>
#include <opencv2/imgproc.hpp>
#include <vcap/backends/model_backend.hpp>
#include <vcap/backends/model_spec.hpp>
#include <vcap/backends/text_reader.hpp>
#include <vcap/capsule.hpp>

namespace {

constexpr int kLongestSide = 8192;

// A detector's lines are tight, and in tight lines the network loses spaces. Of 96 rendered lines
// in DejaVu it read 36 correctly without a margin, and 84 with a quarter of the height.
constexpr double kMargin = 0.25;

cv::Point2f from_middle(const cv::Point2d& point) {
  // OpenCV counts from the centre of the first pixel, vcap from its edge.
  return cv::Point2f(static_cast<float>(point.x - 0.5), static_cast<float>(point.y - 0.5));
}

// The part of the frame inside the four corners of the line, as an upright picture with a margin.
// The corners go clockwise from the upper left. For other outlines, it uses their bounding box.
cv::Mat straighten(const cv::Mat& frame, const vcap::DetectionNode& text) {
  const vcap::Coords coords =
      text.coords.size() == 4 ? text.coords : vcap::rect_to_coords(text.bbox());
  const auto length = [&](std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
    const double longer =
        std::max(cv::norm(coords[b] - coords[a]), cv::norm(coords[d] - coords[c]));
    return std::clamp(longer, 1.0, double{kLongestSide});
  };
  const double width = length(0, 1, 3, 2), height = length(0, 3, 1, 2);
  const double margin = kMargin * std::min(width, height);
  const cv::Point2d corners[] = {{0, 0}, {width, 0}, {width, height}, {0, height}};
  std::array<cv::Point2f, 4> from, to;
  for (std::size_t i = 0; i < 4; ++i) {
    from[i] = from_middle(coords[i]);
    to[i] = from_middle(corners[i] + cv::Point2d(margin, margin));
  }
  cv::Mat line;
  cv::warpPerspective(frame, line, cv::getPerspectiveTransform(from.data(), to.data()),
                      {cvCeil(width + 2 * margin), cvCeil(height + 2 * margin)}, cv::INTER_LINEAR,
                      cv::BORDER_REPLICATE);
  return line;
}

// The pictures to read: the line itself, or both rotations of a line that goes up or down.
std::vector<cv::Mat> readings(const cv::Mat& line) {
  if (line.rows < 1.5 * line.cols) return {line};
  std::vector<cv::Mat> turned(2);
  cv::rotate(line, turned[0], cv::ROTATE_90_COUNTERCLOCKWISE);
  cv::rotate(line, turned[1], cv::ROTATE_90_CLOCKWISE);
  return turned;
}

// Removes spaces at both ends, since the network may read the margin as a space.
std::string without_margin(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

class Backend final : public vcap::ModelBackend<vcap::RecognizedText> {
 public:
  using ModelBackend::ModelBackend;

  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes nodes,
                                     const vcap::OptionValues& options,
                                     vcap::BaseStreamState&) override {
    vcap::DetectionNode& node = nodes.node();
    const std::vector<vcap::RecognizedText> texts =
        predict_all(readings(straighten(frame.image, node)));
    vcap::RecognizedText read =
        *std::ranges::max_element(texts, {}, &vcap::RecognizedText::confidence);
    if (read.confidence < options.get<double>("threshold")) read.text.clear();
    node.extra_data["text"] = without_margin(read.text);
    node.extra_data["text_confidence"] = read.confidence;
    return nodes;
  }
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {
        .name = "recognizer_text",
        .version = 1,
        .description =
            "Reads a line of text, in Chinese or Latin letters; empty if no text "
            "can be read",
        .input_type = {.size = vcap::NodeDescription::Size::single, .detections = {"text"}},
        .output_type = {.size = vcap::NodeDescription::Size::single,
                        .detections = {"text"},
                        .extra_data = {"text", "text_confidence"}},
        .options = {{"threshold",
                     vcap::FloatOption{.default_value = 0.5,
                                       .min = 0.0,
                                       .max = 1.0,
                                       .description = "The least mean confidence of a text's "
                                                      "characters; other texts are left empty"}}},
        .device_mapper = vcap::DeviceMapper::map_to_single_cpu(),
        .config_schema = vcap::ModelSpec::config_schema()};
  }

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles& files,
                                              const std::string& device) override {
    const auto spec = vcap::ModelSpec::read(files, "model.json", config());
    vcap::TextLineSettings settings;
    settings.dictionary = spec.labels;
    return std::make_unique<Backend>(vcap::load_model(files, spec, device),
                                     vcap::TextLineReader(std::move(settings)));
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
