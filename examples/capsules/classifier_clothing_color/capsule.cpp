// SPDX-License-Identifier: Apache-2.0
//
// Names the colour of a person's upper clothing: every pixel of the chest votes for a colour.
#include <algorithm>
#include <array>
#include <opencv2/imgproc.hpp>
#include <vcap/capsule.hpp>

namespace {

enum Color { black, white, gray, red, orange, yellow, green, blue, purple, pink, brown };
const std::vector<std::string> kColorNames{"black", "white", "gray",   "red",  "orange", "yellow",
                                           "green", "blue",  "purple", "pink", "brown"};

struct Verdict {
  Color color;
  double confidence;  // the share of the votes for this colour
};

// The colour of a pixel with a hue of 0…179 (half degrees), a saturation and a value of 0…255.
Color color_of(const cv::Vec3b& hsv) {
  const int hue = hsv[0], saturation = hsv[1], value = hsv[2];
  if (value < 60) return black;
  if (saturation < 50) return value < 190 ? gray : white;
  if (hue < 8 || hue >= 168) return saturation < 130 && value > 170 ? pink : red;
  if (hue < 22) return value < 170 ? brown : orange;
  if (hue < 35) return yellow;
  if (hue < 90) return green;
  if (hue < 130) return blue;
  return hue < 155 ? purple : pink;
}

// The visible part of the chest. Boxes around people contain some ground; this part of the box has
// no ground, head or legs.
cv::Mat chest(const cv::Mat& image, const vcap::DetectionNode& person) {
  const cv::Mat seen = vcap::Crop::from_node(person).apply(image);
  return seen(cv::Rect(seen.cols * 3 / 8, seen.rows / 4, std::max(1, seen.cols / 4),
                       std::max(1, seen.rows / 4)));
}

class Backend final : public vcap::BaseBackend<cv::Mat, Verdict> {
 public:
  // [process]
  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes nodes,
                                     const vcap::OptionValues&, vcap::BaseStreamState&) override {
    vcap::DetectionNode& person = nodes.node();
    const Verdict verdict = predict(chest(frame.image, person));
    person.attributes["upper_color"] = kColorNames[verdict.color];
    person.extra_data["upper_color_confidence"] = verdict.confidence;
    return nodes;
  }
  // [/process]

  std::vector<Verdict> batch_predict(std::span<const cv::Mat> chests) override {
    std::vector<Verdict> verdicts;
    for (const cv::Mat& chest : chests) verdicts.push_back(vote(chest));
    return verdicts;
  }

 private:
  static Verdict vote(const cv::Mat& chest) {
    cv::Mat3b hsv;
    cv::cvtColor(chest, hsv, cv::COLOR_BGR2HSV);
    std::array<int, brown + 1> votes{};
    for (const cv::Vec3b& pixel : hsv) ++votes[color_of(pixel)];
    const auto most = std::ranges::max_element(votes);
    return {static_cast<Color>(most - votes.begin()), *most / static_cast<double>(hsv.total())};
  }
};

class Capsule final : public vcap::BaseCapsule {
 public:
  // [info]
  static vcap::CapsuleInfo info() {
    return {.name = "classifier_clothing_color",
            .version = 1,
            .description = "Names the colour of a person's upper clothing",
            .input_type = {.size = vcap::NodeDescription::Size::single, .detections = {"person"}},
            .output_type = {.size = vcap::NodeDescription::Size::single,
                            .detections = {"person"},
                            .attributes = {{"upper_color", kColorNames}},
                            .extra_data = {"upper_color_confidence"}}};
  }
  // [/info]

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>();
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
