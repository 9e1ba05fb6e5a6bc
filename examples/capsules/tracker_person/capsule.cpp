// SPDX-License-Identifier: Apache-2.0
//
// Gives every person an id that stays the same from frame to frame, and a smoothed box.
#include <algorithm>
#include <vcap/capsule.hpp>

namespace {

std::chrono::nanoseconds seconds(const vcap::OptionValues& options, const char* name) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(options.get<double>(name)));
}

vcap::TrackerSettings settings_of(const vcap::OptionValues& options) {
  vcap::TrackerSettings settings{.confirm_at_once = options.get<double>("confirm_at_once"),
                                 .confirm_within = seconds(options, "confirm_within"),
                                 .max_lost = seconds(options, "max_lost"),
                                 .emit_lost_for = seconds(options, "emit_lost_for")};
  settings.association.high_confidence = options.get<double>("high_confidence");
  settings.association.low_confidence = options.get<double>("low_confidence");
  settings.association.min_iou = options.get<double>("min_iou");
  settings.association.appearance_weight = options.get<double>("appearance_weight");
  settings.association.max_appearance_distance = options.get<double>("max_appearance_distance");
  return settings;
}

// [state]
// The persons of one stream. A stored video has the same seed in every run, so it also has the same
// ids.
class Tracks final : public vcap::BaseStreamState {
 public:
  explicit Tracks(const vcap::StreamInfo& stream) : tracker_({}, stream.seed) {
    if (!stream.saved.is_null()) tracker_ = vcap::MultiObjectTracker::restore(stream.saved);
  }

  // A newer version continues from this if it replaces this version while the stream runs.
  nlohmann::json save() const override { return tracker_.save(); }

  // The persons that belong to a track, each with its id and smoothed box.
  vcap::DetectionNodes update(const vcap::Frame& frame, vcap::DetectionNodes persons,
                              const vcap::TrackerSettings& settings);

 private:
  vcap::MultiObjectTracker tracker_;
};
// [/state]

// [update]
vcap::DetectionNodes Tracks::update(const vcap::Frame& frame, vcap::DetectionNodes persons,
                                    const vcap::TrackerSettings& settings) {
  std::vector<vcap::TrackedDetection> detections;
  for (vcap::DetectionNode& person : persons) {
    if (!person.detection_bbox) person.detection_bbox = person.bbox();
    detections.push_back({.box = *person.detection_bbox,
                          .confidence = std::clamp(person.confidence().value_or(1), 0.0, 1.0),
                          .encoding = person.encoding});
  }
  tracker_.set_settings(settings);
  const auto [found, predicted] = tracker_.update(frame.pts, detections);

  vcap::DetectionNodes tracked = vcap::DetectionNodes::all();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i].id) continue;  // not yet certain that this is a person
    persons[i].track_id = found[i].id;
    persons[i].coords = vcap::rect_to_coords(found[i].box);
    tracked.add(std::move(persons[i]));
  }
  const cv::Rect2d picture({0, 0}, cv::Size2d(frame.image.size()));
  for (const auto& [id, box, label, lost_for] : predicted)
    if (picture.contains(box.centre()))  // persons outside have left
      tracked.add({.name = "person",
                   .coords = vcap::rect_to_coords(box),
                   .track_id = id,
                   .extra_data = {{"predicted", true}}});
  return tracked;
}
// [/update]

// A tracker does not batch, so it needs no BaseBackend.
class Backend final : public vcap::Backend {
 public:
  // [process]
  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes persons,
                                     const vcap::OptionValues& options,
                                     vcap::BaseStreamState& state) override {
    return vcap::state_of<Tracks>(state).update(frame, std::move(persons), settings_of(options));
  }
  // [/process]
};

vcap::FloatOption option(double default_value, double min, double max, std::string description) {
  return {.default_value = default_value,
          .min = min,
          .max = max,
          .description = std::move(description)};
}

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {
        .name = "tracker_person",
        .version = 1,
        .description = "Follows persons through a stream by their motion and looks",
        .input_type = {.size = vcap::NodeDescription::Size::all, .detections = {"person"}},
        .output_type = {.size = vcap::NodeDescription::Size::all,
                        .detections = {"person"},
                        .tracked = true},
        .options =
            {{"high_confidence", option(0.5, 0, 1, "Persons at or above it begin tracks")},
             {"low_confidence", option(0.1, 0, 1, "Persons at or above it continue tracks")},
             {"confirm_at_once",
              option(0.7, 0, 1,
                     "A new person at or above it has an id at once, others as soon as "
                     "they are found again")},
             {"confirm_within",
              option(0.3, 0, 60, "Seconds within which a new person must be found again")},
             {"max_lost", option(1.5, 0, 600, "Seconds for which an unseen person keeps the id")},
             {"emit_lost_for", option(0, 0, 60,
                                      "Seconds for which unseen persons are given at "
                                      "their predicted places")},
             {"min_iou", option(0.25, 0.01, 1, "The least overlap of a person with a track")},
             {"appearance_weight",
              option(0.4, 0, 1, "The weight of encodings against overlap, if there are any")},
             {"max_appearance_distance",
              option(0.25, 0.01, 2, "Encodings farther apart look like different persons")}},
        .stream_state = vcap::make_stream_state<Tracks>()};
  }

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>();
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
