// SPDX-License-Identifier: Apache-2.0
//
// Gives every person an id that stays the same from frame to frame: the persons of a frame are
// assigned to those of the frames before so that, all in all, their boxes overlap the most.
#include <limits>
#include <random>
#include <sstream>
#include <vcap/capsule.hpp>

namespace {

// [state]
// The persons of one stream. The stream's seed is the same whenever a stored video is run, and so
// are the ids.
class Tracks final : public vcap::BaseStreamState {
 public:
  explicit Tracks(const vcap::StreamInfo& stream) : engine_(stream.seed) {
    if (!stream.saved.is_null()) restore(stream.saved);
  }

  // What a newer version goes on from, where it replaces this one while the stream runs.
  nlohmann::json save() const override;

  void update(vcap::DetectionNodes& persons, double min_iou, std::int64_t max_missed_frames);

 private:
  struct Track {
    vcap::Uuid id;
    vcap::BoundingBox box;  // where the person was last seen
    std::int64_t missed_frames = 0;
  };

  void restore(const nlohmann::json& saved);
  cv::Mat1d costs(std::span<const vcap::BoundingBox> boxes, double min_iou) const;

  std::mt19937_64 engine_;
  std::vector<Track> tracks_;
};
// [/state]

void Tracks::update(vcap::DetectionNodes& persons, double min_iou, std::int64_t max_missed_frames) {
  std::vector<vcap::BoundingBox> boxes;
  for (vcap::DetectionNode& person : persons) {
    boxes.push_back(person.bbox());
    person.track_id.reset();
  }

  for (Track& track : tracks_) ++track.missed_frames;
  for (const auto& [row, column] : vcap::linear_assignment(costs(boxes, min_iou))) {
    const auto i = static_cast<std::size_t>(column);
    Track& track = tracks_[static_cast<std::size_t>(row)];
    track.box = boxes[i];
    track.missed_frames = 0;
    persons[i].track_id = track.id;
  }
  std::erase_if(tracks_, [&](const Track& t) { return t.missed_frames > max_missed_frames; });

  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (persons[i].track_id) continue;
    tracks_.push_back({.id = vcap::Uuid::random(engine_), .box = boxes[i]});
    persons[i].track_id = tracks_.back().id;
  }
}

// [save]
nlohmann::json Tracks::save() const {
  std::ostringstream engine;
  engine << engine_;
  nlohmann::json saved = {{"engine", engine.str()}, {"tracks", nlohmann::json::array()}};
  for (const Track& track : tracks_)
    saved["tracks"].push_back({{"id", track.id.to_string()},
                               {"box", {track.box.x1, track.box.y1, track.box.x2, track.box.y2}},
                               {"missed_frames", track.missed_frames}});
  return saved;
}

void Tracks::restore(const nlohmann::json& saved) {
  std::istringstream(saved.at("engine").get<std::string>()) >> engine_;
  for (const nlohmann::json& track : saved.at("tracks")) {
    const auto box = track.at("box").get<std::array<double, 4>>();
    tracks_.push_back({.id = vcap::Uuid::parse(track.at("id").get<std::string>()),
                       .box = {box[0], box[1], box[2], box[3]},
                       .missed_frames = track.at("missed_frames")});
  }
}
// [/save]

// A row for each track, a column for each box; infinity forbids the pair.
cv::Mat1d Tracks::costs(std::span<const vcap::BoundingBox> boxes, double min_iou) const {
  std::vector<vcap::BoundingBox> last_seen;
  for (const Track& track : tracks_) last_seen.push_back(track.box);
  cv::Mat1d cost = vcap::iou_cost_matrix(last_seen, boxes);
  for (double& value : cost)
    if (1 - value < min_iou) value = std::numeric_limits<double>::infinity();
  return cost;
}

// It never batches, so it needs no BaseBackend.
class Backend final : public vcap::Backend {
 public:
  // [process]
  vcap::DetectionNodes process_frame(const vcap::Frame&, vcap::DetectionNodes persons,
                                     const vcap::OptionValues& options,
                                     vcap::BaseStreamState& state) override {
    dynamic_cast<Tracks&>(state).update(persons, options.get<double>("min_iou"),
                                        options.get<std::int64_t>("max_missed_frames"));
    return persons;
  }
  // [/process]
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {
        .name = "tracker_person",
        .version = 1,
        .description = "Follows persons through a stream by the overlap of their boxes",
        .input_type = {.size = vcap::NodeDescription::Size::all, .detections = {"person"}},
        .output_type = {.size = vcap::NodeDescription::Size::all,
                        .detections = {"person"},
                        .tracked = true},
        .options = {{"min_iou",
                     vcap::FloatOption{
                         .default_value = 0.2,
                         .min = 0.01,
                         .max = 1,
                         .description =
                             "The least overlap of a person's boxes from frame to frame"}},
                    {"max_missed_frames",
                     vcap::IntOption{
                         .default_value = 5,
                         .min = 0,
                         .max = 1000,
                         .description = "How many frames a person may be missed and keep the id"}}},
        .stream_state = vcap::make_stream_state<Tracks>()};
  }

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>();
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
