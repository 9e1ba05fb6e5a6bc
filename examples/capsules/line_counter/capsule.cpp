// SPDX-License-Identifier: Apache-2.0
//
// Counts tracked persons who cross a line with their feet.
#include <cmath>
#include <map>
#include <utility>
#include <vcap/capsule.hpp>

namespace {

// Places are fractions of the picture, 0 to 1, so they are valid for every size of it.
struct Line {
  cv::Point2d from, to;

  // The distance of the point to the right of the line, seen from `from` to `to`; left: below 0.
  double offset(cv::Point2d point) const {
    const cv::Point2d way = to - from;
    return way.cross(point - from) / std::hypot(way.x, way.y);
  }

  // The outline of all places within that distance of the line, beside it: two corners at its end,
  // two at its beginning.
  vcap::Coords band(double distance) const {
    const cv::Point2d way = to - from;
    const cv::Point2d right = cv::Point2d(-way.y, way.x) * (distance / std::hypot(way.x, way.y));
    return {from - right, to - right, to + right, from + right};
  }

  // Whether the path between two points crosses the line between its ends. The points must lie on
  // different sides of it.
  bool is_met_between(cv::Point2d one, cv::Point2d other) const {
    const double a = offset(one), b = offset(other);
    const cv::Point2d meeting = one + (other - one) * (a / (a - b));
    const cv::Point2d way = to - from;
    const double place = way.dot(meeting - from) / way.dot(way);
    return place >= 0 && place <= 1;
  }
};

cv::Point2d point(const nlohmann::json& json) {
  return {json.at(0).get<double>(), json.at(1).get<double>()};
}

cv::Point2d foot(const vcap::DetectionNode& person, cv::Size picture) {
  const vcap::BoundingBox box = person.bbox();
  return {box.centre().x / picture.width, box.y2 / picture.height};
}

// [state]
// The last places of persons, and the counts of crossings so far.
class Counter final : public vcap::BaseStreamState {
 public:
  explicit Counter(const vcap::StreamInfo& stream)
      : line_{point(stream.config.at("line").at(0)), point(stream.config.at("line").at(1))},
        margin_(stream.config.at("margin")),
        name_(stream.config.at("name")) {
    if (!stream.saved.is_null()) restore(stream.saved);
  }

  // A newer version continues from this if it replaces this version while the stream runs.
  nlohmann::json save() const override;

  // Marks the persons who cross at this frame, and adds the line with its counts.
  void count(vcap::DetectionNodes& persons, const vcap::Frame& frame);

 private:
  struct Sighting {
    cv::Point2d foot;
    std::chrono::nanoseconds when;
  };

  void restore(const nlohmann::json& saved);
  std::optional<std::string> crossing(const vcap::Uuid& track, const Sighting& now);
  vcap::DetectionNode line_node(cv::Size picture) const;

  const Line line_;
  const double margin_;
  const std::string name_;
  std::map<std::string, std::int64_t> counts_{{"in", 0}, {"out", 0}};
  std::map<vcap::Uuid, Sighting> last_seen_;
};
// [/state]

void Counter::count(vcap::DetectionNodes& persons, const vcap::Frame& frame) {
  constexpr std::chrono::minutes forgotten_after(1);
  std::erase_if(last_seen_,
                [&](const auto& track) { return frame.pts - track.second.when > forgotten_after; });
  for (vcap::DetectionNode& person : persons) {
    person.attributes.erase("crossed");
    const auto way =
        crossing(person.track_id.value(), {foot(person, frame.image.size()), frame.pts});
    if (!way) continue;
    person.attributes["crossed"] = *way;
    ++counts_[*way];
  }
  persons.add(line_node(frame.image.size()));
}

std::optional<std::string> Counter::crossing(const vcap::Uuid& track, const Sighting& now) {
  const double offset = line_.offset(now.foot);
  const bool is_on_line = std::abs(offset) <= margin_;
  auto known = last_seen_.find(track);
  if (known == last_seen_.end()) {
    if (!is_on_line) last_seen_.emplace(track, now);
    return {};
  }
  known->second.when = now.when;
  // Boxes are not steady, so a person on the line counts as being on the previous side.
  if (is_on_line) return {};
  const cv::Point2d before = std::exchange(known->second.foot, now.foot);
  const bool changed_sides = line_.offset(before) * offset < 0;
  if (!changed_sides || !line_.is_met_between(before, now.foot)) return {};
  return offset > 0 ? "in" : "out";
}

// The line as a node in the picture, with its counts up to this frame. The outline of a node is a
// polygon, so it is that of the places that count as on the line.
vcap::DetectionNode Counter::line_node(cv::Size picture) const {
  vcap::DetectionNode line{
      .name = "line",
      .coords = line_.band(margin_),
      .extra_data = {{"line", name_}, {"in", counts_.at("in")}, {"out", counts_.at("out")}}};
  line.scale(picture.width, picture.height);
  return line;
}

// [save]
nlohmann::json Counter::save() const {
  nlohmann::json saved = {{"counts", counts_}, {"tracks", nlohmann::json::array()}};
  for (const auto& [id, seen] : last_seen_)
    saved["tracks"].push_back({{"id", id.to_string()},
                               {"foot", {seen.foot.x, seen.foot.y}},
                               {"when_ns", seen.when.count()}});
  return saved;
}

void Counter::restore(const nlohmann::json& saved) {
  saved.at("counts").get_to(counts_);
  for (const nlohmann::json& track : saved.at("tracks"))
    last_seen_.emplace(vcap::Uuid::parse(track.at("id").get<std::string>()),
                       Sighting{.foot = point(track.at("foot")),
                                .when = std::chrono::nanoseconds(track.at("when_ns"))});
}
// [/save]

class Backend final : public vcap::Backend {
 public:
  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes persons,
                                     const vcap::OptionValues&,
                                     vcap::BaseStreamState& state) override {
    vcap::state_of<Counter>(state).count(persons, frame);
    return persons;
  }
};

class Capsule final : public vcap::BaseCapsule {
 public:
  // [info]
  static vcap::CapsuleInfo info() {
    return {.name = "line_counter",
            .version = 1,
            .description = "Counts the persons who cross a line, each way",
            .input_type = {.size = vcap::NodeDescription::Size::all,
                           .detections = {"person"},
                           .tracked = true},
            // Persons who cross at that frame have "crossed"; the extra data belong to the line.
            .output_type = {.size = vcap::NodeDescription::Size::all,
                            .detections = {"person", "line"},
                            .attributes = {{"crossed", {"in", "out"}}},
                            .tracked = true,
                            .extra_data = {"line", "in", "out"}},
            .stream_config_schema = stream_config_schema(),
            .stream_state = vcap::make_stream_state<Counter>(),
            // Counts continue after any discontinuity, although a tracker then gives new ids.
            .keeps_state_at = {vcap::Discontinuity::gap, vcap::Discontinuity::seek,
                               vcap::Discontinuity::reconnect, vcap::Discontinuity::loop}};
  }
  // [/info]

  // [schema]
  // Fractions of the picture are valid for a large and a small stream of a camera: [0, 0] is the
  // upper left corner, [1, 1] the lower right. "Right" is seen from the first point to the second.
  // With a line from [0, 0.5] to [1, 0.5], persons who move down the picture go in.
  static nlohmann::json stream_config_schema() {
    return nlohmann::json::parse(R"({
        "properties": {
          "line": {
            "description": "From one point to another, each as [x, y] in fractions of the picture: [0, 0] is the left top, [1, 1] the right bottom. Seen from the first point, a person who crosses to the right goes in; to the left, out",
            "format": "line", "type": "array", "minItems": 2, "maxItems": 2, "uniqueItems": true,
            "items": {"type": "array", "minItems": 2, "maxItems": 2,
                      "items": {"type": "number", "minimum": 0, "maximum": 1}}},
          "margin": {
            "description": "A foot within this distance counts as on the line; in fractions of the picture",
            "type": "number", "minimum": 0, "maximum": 0.5, "default": 0.01},
          "name": {
            "description": "The name of the line in records",
            "type": "string", "minLength": 1, "maxLength": 100, "default": "line"}},
        "required": ["line"],
        "additionalProperties": false})");
  }
  // [/schema]

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>();
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
