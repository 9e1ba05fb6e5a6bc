// SPDX-License-Identifier: Apache-2.0
//
// Reads outputs of networks: the first bytes choose the reader, its settings and the shapes, the
// others are the numbers. Results are finite, within the picture, and have confidences in 0…1.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>

#include "fuzz/fuzz.hpp"
#include "vcap/backends/anchor_reader.hpp"
#include "vcap/backends/blaze_reader.hpp"
#include "vcap/backends/centerface_reader.hpp"
#include "vcap/backends/classification_reader.hpp"
#include "vcap/backends/dense_reader.hpp"
#include "vcap/backends/detr_reader.hpp"
#include "vcap/backends/encoding_reader.hpp"
#include "vcap/backends/labels.hpp"
#include "vcap/backends/landmark_reader.hpp"
#include "vcap/backends/segmentation_reader.hpp"
#include "vcap/backends/ssd_reader.hpp"
#include "vcap/backends/text_reader.hpp"
#include "vcap/backends/yolo_reader.hpp"
#include "vcap/backends/yunet_reader.hpp"

namespace {

using namespace vcap;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Reads choices from the first bytes, and numbers from the rest.
class Choices {
 public:
  explicit Choices(std::span<const std::byte> bytes) : bytes_(bytes) {}

  unsigned byte() {
    if (bytes_.empty()) return 0;
    const auto value = std::to_integer<unsigned>(bytes_.front());
    bytes_ = bytes_.subspan(1);
    return value;
  }
  bool flag() { return byte() % 2 == 1; }
  /// A number of 0 to `most`.
  std::size_t upto(std::size_t most) { return byte() % (most + 1); }
  int side(unsigned most) { return static_cast<int>(1 + byte() % most); }
  double fraction() { return byte() / 255.0; }
  std::span<const std::byte> rest() const { return bytes_; }

  /// The next numbers; starts again from the beginning if there are too few. They are either
  /// arbitrary floats, or near zero like most numbers of a network, with some NaN, infinite and
  /// huge ones.
  std::vector<float> numbers(std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = plain_ ? plain_number() : any_number();
    return values;
  }
  void choose_numbers() { plain_ = flag(); }

 private:
  std::byte next() {
    if (bytes_.empty()) return std::byte{0};
    const std::byte value = bytes_[next_];
    next_ = (next_ + 1) % bytes_.size();
    return value;
  }
  float any_number() {
    std::byte raw[4];
    for (std::byte& part : raw) part = next();
    float value;
    std::memcpy(&value, raw, sizeof value);
    return value;
  }
  float plain_number() {
    constexpr float kSpecial[] = {std::numeric_limits<float>::quiet_NaN(),
                                  std::numeric_limits<float>::infinity(), 1e30f, -3e38f};
    const auto value = std::to_integer<int>(next());
    return value >= 252 ? kSpecial[value - 252] : static_cast<float>(value - 100) / 32;
  }

  std::span<const std::byte> bytes_;
  std::size_t next_ = 0;
  bool plain_ = false;
};

/// The outputs of a model, with numbers from the choices.
class Outputs {
 public:
  explicit Outputs(Choices& choices) : choices_(choices) {
    input_ = {choices.side(96), choices.side(96)};
    picture_ = {choices.side(64), choices.side(64)};
    if (choices.flag())
      map_ = {choices.fraction() * 8 - 2, choices.fraction() * 90 - 45, choices.fraction() * 8 - 2,
              choices.fraction() * 90 - 45};
  }

  void add(std::vector<std::size_t> shape, std::string name = {}) {
    std::size_t count = 1;
    for (const std::size_t length : shape) count *= length;
    // Sometimes gives a shape that the reader does not accept.
    if (odd_shape_ && tensors_.size() == odd_output_ && !shape.empty()) {
      shape.back() += 1;
      count = count / (shape.back() - 1 > 0 ? shape.back() - 1 : 1) * shape.back();
    }
    values_.push_back(choices_.numbers(count));
    tensors_.push_back({std::move(name), std::move(shape), {}});
  }
  void choose_shapes() {
    odd_shape_ = choices_.byte() > 240;
    odd_output_ = choices_.upto(3);
    choices_.choose_numbers();
  }
  cv::Size input() const { return input_; }
  ModelOutputs view() {
    for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].values = values_[i];
    return {tensors_, input_, picture_, map_};
  }

 private:
  Choices& choices_;
  cv::Size input_, picture_;
  PictureMap map_{};
  bool odd_shape_ = false;
  std::size_t odd_output_ = 0;
  std::vector<std::vector<float>> values_;
  std::vector<TensorView> tensors_;
};

DetectionFilter filter(Choices& choices) {
  return {.threshold = choices.fraction(),
          .max_overlap = choices.fraction(),
          .across_classes = choices.flag(),
          .clip = choices.byte() % 4 != 0,
          .max_candidates = 1 + choices.upto(200),
          .max_detections = 1 + choices.upto(100)};
}

std::vector<std::string> names(std::size_t count) { return std::vector<std::string>(count, "n"); }

void require_sure(double confidence) { require(confidence >= 0 && confidence <= 1); }

void require_sound(const std::vector<Keypoint>& keypoints) {
  for (const Keypoint& keypoint : keypoints) {
    require(std::isfinite(keypoint.point.x) && std::isfinite(keypoint.point.y));
    require(std::isfinite(keypoint.z.value_or(0)));
    require_sure(keypoint.confidence.value_or(0));
  }
}

void require_sound(const Detections& detections, const ModelOutputs& outputs,
                   const DetectionFilter& filter, std::size_t classes) {
  require(detections.size() <= filter.max_detections);
  double last = 1;
  for (const auto& [box, label, confidence, keypoints] : detections) {
    require(std::isfinite(box.x1) && std::isfinite(box.y1) && std::isfinite(box.x2) &&
            std::isfinite(box.y2) && box.x1 < box.x2 && box.y1 < box.y2);
    if (filter.clip)
      require(box.x1 >= 0 && box.y1 >= 0 && box.x2 <= outputs.picture.width &&
              box.y2 <= outputs.picture.height);
    require(label < classes);
    require(confidence >= filter.threshold && confidence <= last);
    last = confidence;
    require_sound(keypoints);
  }
}

void fuzz_blaze(Choices& choices, Outputs& outputs) {
  BlazeSettings settings;
  settings.anchors.input = {choices.side(64), choices.side(64)};
  settings.anchors.strides.clear();
  for (std::size_t layer = 1 + choices.upto(3); layer > 0; --layer)
    settings.anchors.strides.push_back(8 << choices.upto(2));
  settings.anchors.interpolated_aspect_ratio = choices.flag() ? 1 : 0;
  settings.anchors.fixed_size = choices.flag();
  settings.keypoints = names(choices.upto(4));
  if (choices.flag()) settings.box = BlazeSettings::Box::full_body;
  if (choices.flag()) settings.suppression = BlazeSettings::Suppression::best;
  settings.filter = filter(choices);
  outputs.choose_shapes();
  const BlazeReader reader(settings);
  outputs.add({1, reader.anchor_count(), 4 + 2 * settings.keypoints.size()});
  outputs.add({1, reader.anchor_count(), 1});
  require_sound(reader(outputs.view()), outputs.view(), settings.filter, 1);
}

void fuzz_yolo(Choices& choices, Outputs& outputs) {
  YoloSettings settings;
  settings.form = static_cast<YoloForm>(choices.upto(3));
  settings.classes = 1 + choices.upto(6);
  if (settings.form == YoloForm::v8) settings.keypoints = names(choices.upto(3));
  settings.filter = filter(choices);
  std::size_t rows = choices.upto(80);
  const bool transposed = choices.flag();
  outputs.choose_shapes();
  const std::size_t columns = settings.form == YoloForm::end_to_end ? 6
                              : settings.form == YoloForm::v8
                                  ? 4 + settings.classes + 3 * settings.keypoints.size()
                                  : 5 + settings.classes;
  if (settings.form == YoloForm::yolox) {
    rows = 0;
    for (const int stride : settings.strides)
      rows += static_cast<std::size_t>(outputs.input().width / stride *
                                       (outputs.input().height / stride));
  }
  outputs.add(transposed ? std::vector<std::size_t>{1, columns, rows}
                         : std::vector<std::size_t>{1, rows, columns});
  require_sound(YoloReader(settings)(outputs.view()), outputs.view(), settings.filter,
                settings.classes);
}

void fuzz_ssd(Choices& choices, Outputs& outputs) {
  const SsdSettings settings{
      .classes = 1 + choices.upto(6), .label_offset = choices.upto(1), .filter = filter(choices)};
  const std::size_t rows = choices.upto(80);
  outputs.choose_shapes();
  outputs.add({1, 1, rows, 7});
  require_sound(SsdReader(settings)(outputs.view()), outputs.view(), settings.filter,
                settings.classes);
}

void fuzz_tf(Choices& choices, Outputs& outputs) {
  TfDetectionSettings settings{
      .classes = 1 + choices.upto(6), .label_offset = choices.upto(1), .filter = filter(choices)};
  if (choices.flag()) settings.count = std::nullopt;
  const std::size_t rows = choices.upto(80);
  outputs.choose_shapes();
  outputs.add({1, rows, 4});
  outputs.add({1, rows});
  outputs.add({1, rows});
  outputs.add({1});
  require_sound(TfDetectionReader(settings)(outputs.view()), outputs.view(), settings.filter,
                settings.classes);
}

void fuzz_detr(Choices& choices, Outputs& outputs) {
  DetrSettings settings{.classes = 1 + choices.upto(6), .filter = filter(choices)};
  const bool sigmoid = choices.flag();
  if (sigmoid) settings.scores = DetrSettings::Scores::sigmoid;
  const std::size_t queries = choices.upto(80);
  outputs.choose_shapes();
  outputs.add({1, queries, settings.classes + (sigmoid ? 0 : 1)});
  outputs.add({1, queries, 4});
  require_sound(DetrReader(settings)(outputs.view()), outputs.view(), settings.filter,
                settings.classes);
}

void fuzz_anchors(Choices& choices, Outputs& outputs) {
  AnchorSettings settings;
  settings.classes = 1 + choices.upto(3);
  settings.sigmoid = choices.flag();
  if (choices.flag()) settings.code = AnchorSettings::Code::corners;
  settings.y_first = choices.flag();
  settings.anchors.first_level = static_cast<int>(3 + choices.upto(1));
  settings.anchors.last_level = settings.anchors.first_level + static_cast<int>(choices.upto(2));
  settings.anchors.scales_first = choices.flag();
  settings.filter = filter(choices);
  outputs.choose_shapes();
  std::size_t count = 0;
  for (int level = settings.anchors.first_level; level <= settings.anchors.last_level; ++level) {
    const int stride = 1 << level;
    count += static_cast<std::size_t>((outputs.input().width + stride - 1) / stride *
                                      ((outputs.input().height + stride - 1) / stride) * 9);
  }
  outputs.add({1, count, 4});
  outputs.add({1, count, settings.classes});
  require_sound(AnchorReader(settings)(outputs.view()), outputs.view(), settings.filter,
                settings.classes);
}

void fuzz_yunet(Choices& choices, Outputs& outputs) {
  YunetSettings settings{.by_name = choices.flag(), .filter = filter(choices)};
  settings.keypoints = names(choices.upto(5));
  outputs.choose_shapes();
  const auto cells = [&](std::size_t stride) {
    const auto blocks = [](int pixels) { return static_cast<std::size_t>((pixels + 31) / 32); };
    return blocks(outputs.input().width) * blocks(outputs.input().height) * (32 / stride) *
           (32 / stride);
  };
  const std::pair<const char*, std::size_t> kinds[] = {
      {"cls_", 1}, {"obj_", 1}, {"bbox_", 4}, {"kps_", 2 * settings.keypoints.size()}};
  for (const auto& [prefix, width] : kinds)
    for (const std::size_t stride : {8u, 16u, 32u})
      outputs.add({1, cells(stride), width}, prefix + std::to_string(stride));
  require_sound(YunetReader(settings)(outputs.view()), outputs.view(), settings.filter, 1);
}

void fuzz_centerface(Choices& choices, Outputs& outputs) {
  const CenterfaceSettings settings{
      .stride = choices.side(16), .keypoints = names(choices.upto(5)), .filter = filter(choices)};
  const std::size_t rows = choices.upto(20), columns = choices.upto(20);
  outputs.choose_shapes();
  for (const std::size_t planes :
       {std::size_t{1}, std::size_t{2}, std::size_t{2}, 2 * settings.keypoints.size()})
    outputs.add({1, planes, rows, columns});
  require_sound(CenterfaceReader(settings)(outputs.view()), outputs.view(), settings.filter, 1);
}

void fuzz_classification(Choices& choices, Outputs& outputs) {
  ClassificationHead head{.labels = names(1 + choices.upto(8))};
  head.activation = static_cast<ClassificationHead::Activation>(choices.upto(2));
  if (choices.flag()) head.first_score = choices.byte();
  head.threshold = choices.fraction();
  head.most = choices.upto(4);
  const std::size_t count = head.labels.size() + head.first_score.value_or(0);
  outputs.choose_shapes();
  outputs.add({1, count});
  for (const Classification& found : ClassificationReader({head})(outputs.view()))
    for (const ScoredLabel& label : found.labels) {
      require(label.index < head.labels.size());
      require(label.confidence >= head.threshold && label.confidence <= 1);
    }
}

void fuzz_encoding(Choices& choices, Outputs& outputs) {
  const EncodingSettings settings{.normalized = choices.flag()};
  const std::size_t count = choices.upto(64);
  outputs.choose_shapes();
  outputs.add({1, count});
  const auto encoding = EncodingReader(settings)(outputs.view());
  if (!encoding) return;
  double squares = 0;
  for (const float value : *encoding) {
    require(std::isfinite(value));
    squares += static_cast<double>(value) * value;
  }
  if (settings.normalized) require(std::abs(squares - 1) < 1e-5);
}

void fuzz_landmarks(Choices& choices, Outputs& outputs) {
  LandmarkSettings settings{.names = names(1 + choices.upto(30)), .values = 2 + choices.upto(4)};
  settings.relative = choices.flag();
  if (choices.flag()) settings.z = 2;
  if (choices.flag()) settings.visibility = 3;
  if (choices.flag()) settings.presence = 4;
  if (choices.flag()) settings.flag = CertaintyOutput{{"", 1}, choices.flag()};
  if (choices.flag()) settings.visibility_output = CertaintyOutput{{"", 2}, choices.flag()};
  if (choices.flag()) settings.presence_output = CertaintyOutput{{"", 3}, choices.flag()};
  settings.threshold = choices.fraction();
  outputs.choose_shapes();
  outputs.add({1, settings.names.size() * settings.values});
  outputs.add({1, 1});
  outputs.add({1, settings.names.size()});
  outputs.add({1, settings.names.size()});
  if (const auto landmarks = LandmarkReader(settings)(outputs.view())) {
    require_sure(landmarks->confidence);
    require_sound(landmarks->keypoints);
  }
}

void fuzz_heatmaps(Choices& choices, Outputs& outputs) {
  const HeatmapSettings settings{.names = names(1 + choices.upto(5)),
                                 .threshold = choices.fraction(),
                                 .offset = choices.fraction()};
  const std::size_t rows = choices.upto(20), columns = choices.upto(20);
  outputs.choose_shapes();
  outputs.add({1, settings.names.size(), rows, columns});
  require_sound(HeatmapReader(settings)(outputs.view()));
}

void fuzz_text_boxes(Choices& choices, Outputs& outputs) {
  const TextBoxSettings settings{.cell_threshold = choices.fraction(),
                                 .threshold = choices.fraction(),
                                 .unclip_ratio = choices.fraction() * 100,
                                 .min_side = choices.fraction() * 4,
                                 .max_candidates = 1 + choices.upto(100)};
  const std::size_t rows = choices.upto(60), columns = choices.upto(60);
  outputs.choose_shapes();
  outputs.add({1, 1, rows, columns});
  const ModelOutputs view = outputs.view();
  for (const TextBox& box : TextBoxReader(settings)(view)) {
    require(box.confidence >= settings.threshold && box.confidence <= 1 && box.corners.size() == 4);
    for (const cv::Point2d& corner : box.corners)
      require(corner.x >= 0 && corner.y >= 0 && corner.x <= view.picture.width &&
              corner.y <= view.picture.height);
  }
}

void fuzz_text_lines(Choices& choices, Outputs& outputs) {
  TextLineSettings settings{.dictionary = names(1 + choices.upto(8))};
  settings.blank = choices.upto(settings.dictionary.size());
  settings.logits = choices.flag();
  const std::size_t steps = choices.upto(60);
  outputs.choose_shapes();
  outputs.add({1, steps, settings.dictionary.size() + 1});
  const RecognizedText found = TextLineReader(settings)(outputs.view());
  require_sure(found.confidence);
  require(found.text.size() <= steps);
}

void fuzz_segmentation(Choices& choices, Outputs& outputs) {
  SegmentationSettings settings{.classes = 1 + choices.upto(4)};
  if (choices.byte() > 250) settings.classes = 300;
  settings.form = static_cast<SegmentationSettings::Form>(choices.upto(2));
  settings.picture_size = choices.flag();
  const std::size_t rows = choices.upto(12), columns = choices.upto(12);
  outputs.choose_shapes();
  const std::size_t planes = settings.classes == 2 && choices.flag() ? 1 : settings.classes;
  using Form = SegmentationSettings::Form;
  outputs.add(settings.form == Form::planes ? std::vector{std::size_t{1}, planes, rows, columns}
              : settings.form == Form::interleaved
                  ? std::vector{std::size_t{1}, rows, columns, planes}
                  : std::vector{std::size_t{1}, rows, columns});
  const Segmentation found = SegmentationReader(settings)(outputs.view());
  if (settings.picture_size) require(found.labels.size() == outputs.view().picture);
  double greatest = 0;
  cv::minMaxIdx(found.labels, nullptr, &greatest);
  require(greatest < static_cast<double>(settings.classes));
  require(found.colored().size() == found.labels.size());
}

void require_finite(const cv::Mat1f& values) {
  for (const float value : values) require(std::isfinite(value));
}

void fuzz_depth(Choices& choices, Outputs& outputs) {
  const DepthSettings settings{.picture_size = choices.flag()};
  const std::size_t rows = choices.upto(12), columns = choices.upto(12);
  outputs.choose_shapes();
  outputs.add({1, rows, columns});
  const DepthMap map = DepthReader(settings)(outputs.view());
  require_finite(map.values);
  for (const float value : map.normalized()) require_sure(value);
  require(map.normalized_8u().size() == map.values.size());
}

void fuzz_density(Choices& choices, Outputs& outputs) {
  const DensitySettings settings{.factor = 0.01 + choices.fraction() * 4,
                                 .picture_size = choices.flag()};
  const std::size_t rows = choices.upto(12), columns = choices.upto(12);
  const cv::Size size(choices.side(20), choices.side(20));
  outputs.choose_shapes();
  outputs.add({1, 1, rows, columns});
  const DensityMap map = DensityReader(settings)(outputs.view());
  require_finite(map.values);
  const DensityMap resized = map.resized(size);
  require_finite(resized.values);
  double sum = 0;
  for (const float value : map.values) sum += std::abs(static_cast<double>(value));
  // Sums of huge values may be limited to the greatest float.
  if (sum < 1e37) require(std::abs(resized.count() - map.count()) <= 1e-4 * sum + 1e-30);
}

void fuzz_labels(Choices& choices, Outputs&) {
  const auto rest = choices.rest();
  const std::string text(reinterpret_cast<const char*>(rest.data()), rest.size());
  std::string again;
  const std::vector<std::string> labels = read_labels(text);
  for (const std::string& label : labels) {
    require(!label.empty() && label.find('\n') == std::string::npos);
    again += label + "\r\n";
  }
  // After its byte order mark, a text may contain a second one; it would be removed, too.
  if (!again.starts_with("\xEF\xBB\xBF")) require(read_labels(again) == labels);
}

}  // namespace

FUZZ(bytes) {
  using Fuzz = void (*)(Choices&, Outputs&);
  constexpr Fuzz kReaders[] = {fuzz_blaze,        fuzz_yolo,       fuzz_ssd,
                               fuzz_tf,           fuzz_detr,       fuzz_anchors,
                               fuzz_yunet,        fuzz_centerface, fuzz_classification,
                               fuzz_encoding,     fuzz_landmarks,  fuzz_heatmaps,
                               fuzz_text_boxes,   fuzz_text_lines, fuzz_depth,
                               fuzz_segmentation, fuzz_density,    fuzz_labels};
  Choices choices(bytes);
  const Fuzz reader = kReaders[choices.upto(std::size(kReaders) - 1)];
  Outputs outputs(choices);
  reader(choices, outputs);
}
