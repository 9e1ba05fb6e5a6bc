// SPDX-License-Identifier: Apache-2.0 Makes readers of detections from ModelSpec::output.
#include <algorithm>
#include <utility>

#include "backends/spec_json.hpp"
#include "vcap/backends/anchor_reader.hpp"
#include "vcap/backends/blaze_reader.hpp"
#include "vcap/backends/centerface_reader.hpp"
#include "vcap/backends/detector_backend.hpp"
#include "vcap/backends/detr_reader.hpp"
#include "vcap/backends/ssd_reader.hpp"
#include "vcap/backends/yolo_reader.hpp"
#include "vcap/backends/yunet_reader.hpp"

namespace vcap {
namespace {

using Reader = std::function<Detections(const ModelOutputs&)>;

/// The reader drops candidates below it. A capsule's option "threshold" may be higher.
constexpr double kLeastConfidence = 0.05;

class DetectionSpec {
 public:
  DetectionSpec(const JsonView& json, const std::vector<std::string>& labels)
      : json_(json), labels_(labels) {}

  Reader reader() const {
    using Make = Reader (DetectionSpec::*)() const;
    const Make make = spec::one_of<Make>(
        json_["reader"], {{"yolo_v5", &DetectionSpec::yolo<YoloForm::v5>},
                          {"yolo_v8", &DetectionSpec::yolo<YoloForm::v8>},
                          {"yolo_end_to_end", &DetectionSpec::yolo<YoloForm::end_to_end>},
                          {"yolox", &DetectionSpec::yolo<YoloForm::yolox>},
                          {"ssd", &DetectionSpec::ssd},
                          {"tf_detection", &DetectionSpec::tf_detection},
                          {"detr", &DetectionSpec::detr},
                          {"retinanet", &DetectionSpec::retinanet},
                          {"blaze_face_short_range", &DetectionSpec::face_short_range},
                          {"blaze_face_full_range", &DetectionSpec::face_full_range},
                          {"blaze_palm", &DetectionSpec::palm},
                          {"blaze_pose", &DetectionSpec::pose},
                          {"yunet", &DetectionSpec::yunet},
                          {"centerface", &DetectionSpec::centerface}});
    return (this->*make)();
  }

 private:
  /// The reader's defaults, with the settings that all detectors have in common.
  DetectionFilter filter(DetectionFilter filter) const {
    filter.threshold = kLeastConfidence;
    if (const auto least = json_.find("threshold")) filter.threshold = least->number();
    if (const auto overlap = json_.find("max_overlap")) filter.max_overlap = overlap->number();
    if (const auto across = json_.find("across_classes")) filter.across_classes = across->boolean();
    if (const auto most = json_.find("max_detections"))
      filter.max_detections = spec::whole<std::size_t>(*most, 1);
    return filter;
  }
  void allow(std::initializer_list<std::string_view> fields) const {
    for (const auto& [name, value] : json_.fields()) {
      constexpr std::string_view kCommon[] = {"reader",         "threshold",      "max_overlap",
                                              "across_classes", "max_detections", "tiling"};
      // clang 14 captures no structured binding.
      const auto is_name = [&given = name](std::string_view known) { return known == given; };
      if (std::ranges::none_of(kCommon, is_name) && std::ranges::none_of(fields, is_name))
        value.complain("the reader " + json_["reader"].text() + " has no such setting");
    }
  }
  OutputRef output(const std::string& field, OutputRef otherwise) const {
    if (const auto name = json_.find(field)) {
      if (name->value().is_number()) return {"", spec::whole<std::size_t>(*name, 0)};
      return {name->text(), 0};
    }
    return otherwise;
  }
  std::size_t classes() const {
    if (labels_.empty())
      json_.complain(
          "a detector needs \"labels\", the names of its classes, in addition to \"output\"");
    return labels_.size();
  }

  template <YoloForm form>
  Reader yolo() const {
    allow({"output", "keypoints", "strides"});
    YoloSettings settings;
    settings.form = form;
    settings.classes = classes();
    settings.output = output("output", settings.output);
    if (const auto names = json_.find("keypoints")) settings.keypoints = names->texts();
    if (const auto strides = json_.find("strides")) {
      settings.strides.clear();
      for (const JsonView& stride : strides->elements())
        settings.strides.push_back(spec::whole<int>(stride, 1));
    }
    settings.filter = filter(settings.filter);
    return YoloReader(settings);
  }
  Reader ssd() const {
    allow({"output", "label_offset"});
    SsdSettings settings;
    settings.classes = classes();
    settings.output = output("output", {});
    if (const auto offset = json_.find("label_offset"))
      settings.label_offset = spec::whole<std::size_t>(*offset, 0);
    settings.filter = filter(settings.filter);
    return SsdReader(settings);
  }
  Reader tf_detection() const {
    allow({"boxes", "classes", "scores", "count", "label_offset"});
    TfDetectionSettings settings;
    settings.classes = classes();
    settings.boxes = output("boxes", settings.boxes);
    settings.classes_of = output("classes", settings.classes_of);
    settings.scores = output("scores", settings.scores);
    if (const auto count = json_.find("count"); count && count->is_null())
      settings.count.reset();
    else
      settings.count = output("count", *settings.count);
    if (const auto offset = json_.find("label_offset"))
      settings.label_offset = spec::whole<std::size_t>(*offset, 0);
    settings.filter = filter(settings.filter);
    return TfDetectionReader(settings);
  }
  Reader detr() const {
    allow({"logits", "boxes", "scores"});
    DetrSettings settings;
    settings.classes = classes();
    settings.logits = output("logits", settings.logits);
    settings.boxes = output("boxes", settings.boxes);
    if (const auto scores = json_.find("scores"))
      settings.scores = spec::one_of<DetrSettings::Scores>(
          *scores,
          {{"softmax", DetrSettings::Scores::softmax}, {"sigmoid", DetrSettings::Scores::sigmoid}});
    settings.filter = filter(settings.filter);
    return DetrReader(settings);
  }
  Reader retinanet() const {
    allow({"boxes", "scores", "sigmoid", "y_first", "scales_first", "first_level", "last_level",
           "size", "scales", "ratios", "variances"});
    AnchorSettings settings;
    settings.classes = classes();
    settings.boxes = output("boxes", settings.boxes);
    settings.scores = output("scores", settings.scores);
    if (const auto sigmoid = json_.find("sigmoid")) settings.sigmoid = sigmoid->boolean();
    if (const auto first = json_.find("y_first")) settings.y_first = first->boolean();
    PyramidAnchors& anchors = settings.anchors;
    if (const auto first = json_.find("scales_first")) anchors.scales_first = first->boolean();
    if (const auto level = json_.find("first_level"))
      anchors.first_level = spec::whole<int>(*level, 0);
    if (const auto level = json_.find("last_level"))
      anchors.last_level = spec::whole<int>(*level, 0);
    if (const auto size = json_.find("size")) anchors.size = size->number();
    const auto numbers = [&](const char* field, std::vector<double>& into) {
      const auto list = json_.find(field);
      if (!list) return;
      into.clear();
      for (const JsonView& number : list->elements()) into.push_back(number.number());
    };
    numbers("scales", anchors.scales);
    numbers("ratios", anchors.ratios);
    if (const auto variances = json_.find("variances")) {
      const auto list = variances->elements();
      if (list.size() != 4) variances->fail("a list of four numbers");
      for (int i = 0; i < 4; ++i)
        settings.variances[i] = list[static_cast<std::size_t>(i)].number();
    }
    settings.filter = filter(settings.filter);
    return AnchorReader(settings);
  }
  Reader blaze(BlazeSettings settings) const {
    allow({"boxes", "scores", "box", "suppression"});
    using Settings = BlazeSettings;
    settings.boxes = output("boxes", settings.boxes);
    settings.scores = output("scores", settings.scores);
    if (const auto box = json_.find("box"))
      settings.box = spec::one_of<Settings::Box>(
          *box, {{"network", Settings::Box::network}, {"full_body", Settings::Box::full_body}});
    if (const auto how = json_.find("suppression"))
      settings.suppression = spec::one_of<Settings::Suppression>(
          *how,
          {{"best", Settings::Suppression::best}, {"weighted", Settings::Suppression::weighted}});
    settings.filter = filter(settings.filter);
    return BlazeReader(std::move(settings));
  }
  Reader face_short_range() const { return blaze(BlazeSettings::face_short_range()); }
  Reader face_full_range() const { return blaze(BlazeSettings::face_full_range()); }
  Reader palm() const { return blaze(BlazeSettings::palm()); }
  Reader pose() const { return blaze(BlazeSettings::pose()); }
  Reader yunet() const {
    allow({"by_name"});
    YunetSettings settings;
    if (const auto by_name = json_.find("by_name")) settings.by_name = by_name->boolean();
    settings.filter = filter(settings.filter);
    return YunetReader(std::move(settings));
  }
  Reader centerface() const {
    allow({"heatmap", "scale", "offset", "landmarks"});
    CenterfaceSettings settings;
    settings.heatmap = output("heatmap", settings.heatmap);
    settings.scale = output("scale", settings.scale);
    settings.offset = output("offset", settings.offset);
    settings.landmarks = output("landmarks", settings.landmarks);
    settings.filter = filter(settings.filter);
    return CenterfaceReader(std::move(settings));
  }

  const JsonView json_;
  const std::vector<std::string>& labels_;
};

}  // namespace

std::function<Detections(const ModelOutputs&)> make_detection_reader(const ModelSpec& spec) {
  return spec::with_file(
      "output", [&] { return DetectionSpec(JsonView(spec.output), spec.labels).reader(); });
}

}  // namespace vcap
