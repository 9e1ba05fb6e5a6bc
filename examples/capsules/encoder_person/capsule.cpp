// SPDX-License-Identifier: Apache-2.0
//
// Gives a person an encoding of the colours of upper and lower body. With it, the same person can
// be found again after an absence or in another stream.
#include <opencv2/imgproc.hpp>
#include <vcap/capsule.hpp>

namespace {

constexpr int kHues = 8, kSaturations = 3, kValues = 3;
constexpr int kBins = kHues * kSaturations * kValues;

using Encoding = std::vector<float>;

// The square root of the share of each bin of colours. Such a vector has length 1, and the cosine
// of two is the Bhattacharyya coefficient of their shares (A. Bhattacharyya, 1943).
cv::Mat1f color_shares(const cv::Mat& hsv) {
  const int channels[] = {0, 1, 2};
  const int bins[] = {kHues, kSaturations, kValues};
  const float hues[] = {0, 180}, bytes[] = {0, 256};
  const float* ranges[] = {hues, bytes, bytes};
  cv::Mat histogram;
  cv::calcHist(&hsv, 1, channels, cv::noArray(), histogram, 3, bins, ranges);
  cv::Mat1f shares(1, kBins, histogram.ptr<float>());
  cv::sqrt(shares / static_cast<double>(hsv.total()), shares);
  return shares.clone();
}

Encoding encode(const cv::Mat& person) {
  // The middle third, since there is ground at the sides. A part has at least one pixel.
  const int left = person.cols / 3, width = std::max(1, person.cols / 3);
  const int top = person.rows / 5, half = std::max(1, person.rows * 3 / 10);
  cv::Mat hsv;
  cv::cvtColor(person, hsv, cv::COLOR_BGR2HSV);

  Encoding encoding;
  for (const int y : {top, std::min(top + half, person.rows - half)}) {
    const cv::Mat1f shares = color_shares(hsv(cv::Rect(left, y, width, half)));
    encoding.insert(encoding.end(), shares.begin(), shares.end());
  }
  cv::normalize(encoding, encoding);
  return encoding;
}

class Backend final : public vcap::BaseBackend<cv::Mat, Encoding> {
 public:
  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes nodes,
                                     const vcap::OptionValues&, vcap::BaseStreamState&) override {
    vcap::DetectionNode& person = nodes.node();
    person.encoding = predict(vcap::Crop::from_node(person).apply(frame.image));
    return nodes;
  }

  std::vector<Encoding> batch_predict(std::span<const cv::Mat> persons) override {
    std::vector<Encoding> encodings;
    for (const cv::Mat& person : persons) encodings.push_back(encode(person));
    return encodings;
  }

  // [distances]
  std::vector<float> distances(std::span<const float> encoding,
                               std::span<const std::vector<float>> others) const override {
    return vcap::cosine_distances(encoding, others);
  }
  // [/distances]
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "encoder_person",
            .version = 1,
            .description = "Encodes a person by the colours of upper and lower body",
            .input_type = {.size = vcap::NodeDescription::Size::single, .detections = {"person"}},
            .output_type = {.size = vcap::NodeDescription::Size::single,
                            .detections = {"person"},
                            .encoded = true},
            .recognition_threshold = 0.2};
  }

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>();
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
