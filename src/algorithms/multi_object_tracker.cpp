// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/multi_object_tracker.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "algorithms/association_checks.hpp"
#include "algorithms/check_box.hpp"
#include "base/text.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;

/// Unsure detections are half covered or blurred. The error of their boxes is about this many times
/// as large.
constexpr double kUnsureNoise = 2;

void check_settings(const TrackerSettings& settings) {
  check_association(settings.association);
  (void)KalmanFilter({0, 0, 1, 1}, settings.motion);  // checks the motion
  const auto check = [](const char* name, nanoseconds value, nanoseconds least) {
    if (value < least)
      throw InvalidArgument(ErrorCode::invalid_argument,
                            std::string("TrackerSettings: ") + name + " is " +
                                std::to_string(value.count()) + " ns; it must be " +
                                std::to_string(least.count()) + " ns or more");
  };
  if (!(settings.confirm_at_once >= 0))
    throw InvalidArgument(ErrorCode::invalid_argument, "TrackerSettings: confirm_at_once is " +
                                                           number_text(settings.confirm_at_once) +
                                                           "; it must be 0 or more");
  check("confirm_after", settings.confirm_after, nanoseconds(0));
  check("confirm_within", settings.confirm_within, nanoseconds(0));
  check("max_lost", settings.max_lost, nanoseconds(0));
  check("lost_fading", settings.lost_fading, nanoseconds(1));
  check("emit_lost_for", settings.emit_lost_for, nanoseconds(0));
  check("encoding_memory", settings.encoding_memory, nanoseconds(0));
}

std::vector<float> unit_vector(std::span<const double> vector) {
  double sum = 0;
  for (const double x : vector) sum += x * x;
  const double length = std::sqrt(sum);
  std::vector<float> unit;
  for (const double x : vector) unit.push_back(static_cast<float>(x / length));
  return unit;
}

/// Mixes two vectors, both scaled to length 1 before and after. Gives only the newer one if they
/// cancel each other out.
std::vector<float> mixed(std::span<const float> older, const std::vector<float>& newer,
                         double share_of_newer) {
  std::vector<float> unit = unit_vector(std::vector<double>(newer.begin(), newer.end()));
  if (older.empty()) return unit;
  std::vector<double> mix(unit.size());
  double sum = 0;
  for (std::size_t i = 0; i < mix.size(); ++i) {
    mix[i] = (1 - share_of_newer) * older[i] + share_of_newer * unit[i];
    sum += mix[i] * mix[i];
  }
  return sum > 1e-12 ? unit_vector(mix) : unit;
}

double seconds_of(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

nlohmann::json time_json(nanoseconds time) { return time.count(); }

nanoseconds time_at(const nlohmann::json& json, const char* key) {
  return nanoseconds(json.at(key).get<std::int64_t>());
}

}  // namespace

MultiObjectTracker::MultiObjectTracker(const TrackerSettings& settings, std::uint64_t seed)
    : settings_(settings), engine_(seed) {
  check_settings(settings);
}

void MultiObjectTracker::set_settings(const TrackerSettings& settings) {
  if (settings == settings_) return;
  check_settings(settings);
  settings_ = settings;
  for (Track& track : tracks_) track.filter.set_motion(settings.motion);
}

void MultiObjectTracker::check(nanoseconds pts,
                               std::span<const TrackedDetection> detections) const {
  constexpr nanoseconds kLongest = nanoseconds::max() / 2;  // differences of two do not overflow
  if (pts < -kLongest || pts > kLongest)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "MultiObjectTracker: a frame at " + std::to_string(pts.count()) +
                              " ns is more than 146 years away; count from the stream's start");
  if (pts_ && pts < *pts_)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "MultiObjectTracker: a frame at " + std::to_string(pts.count()) +
                              " ns cannot follow one at " + std::to_string(pts_->count()) +
                              " ns; make another tracker after a seek or a loop");
  for (std::size_t i = 0; i < detections.size(); ++i) {
    const std::string name = "MultiObjectTracker: detection " + std::to_string(i);
    check_box(name.c_str(), detections[i].box);
    const double confidence = detections[i].confidence;
    if (!(confidence >= 0 && confidence <= 1))
      throw InvalidArgument(
          ErrorCode::invalid_argument,
          name + ": the confidence is " + number_text(confidence) + "; it must be within 0 to 1");
  }
  check_encodings({}, detections);
}

/// Forgets the tracks that waited too long, and moves the others on to `pts`.
void MultiObjectTracker::predict(nanoseconds pts) {
  std::erase_if(tracks_, [&](const Track& track) {
    const nanoseconds limit = track.id ? settings_.max_lost : settings_.confirm_within;
    return !track.is_found && pts - track.last_found > limit;
  });
  const nanoseconds dt = pts_ ? pts - *pts_ : nanoseconds(0);
  for (Track& track : tracks_) {
    if (track.is_found)
      track.filter.predict(dt);
    else
      track.filter.coast(dt, settings_.lost_fading);
  }
  pts_ = pts;
}

/// Encodings of another size come from another encoder and cannot be compared.
void MultiObjectTracker::forget_encodings_unlike(std::span<const TrackedDetection> detections) {
  const auto encoded = std::ranges::find_if(
      detections, [](const TrackedDetection& detection) { return detection.encoding.has_value(); });
  if (encoded == detections.end()) return;
  for (Track& track : tracks_)
    if (track.encoding.size() != encoded->encoding->size()) track.encoding.clear();
}

MultiObjectTracker::Result MultiObjectTracker::update(
    nanoseconds pts, std::span<const TrackedDetection> detections) {
  check(pts, detections);
  predict(pts);
  forget_encodings_unlike(detections);

  std::vector<TrackView> views;
  for (Track& track : tracks_) {
    using enum TrackView::State;
    views.push_back({.filter = &track.filter,
                     .state = !track.id        ? tentative
                              : track.is_found ? tracked
                                               : lost,
                     .encoding = track.encoding,
                     .label = track.label});
  }
  std::vector<std::optional<std::size_t>> track_of =
      associate_in_stages(views, detections, settings_.association);

  for (Track& track : tracks_) track.is_found = false;
  for (std::size_t i = 0; i < detections.size(); ++i) {
    if (track_of[i]) {
      take(tracks_[*track_of[i]], detections[i], pts);
    } else if (detections[i].confidence >= settings_.association.high_confidence) {
      track_of[i] = tracks_.size();
      begin(detections[i], pts);
    }
  }

  Result result;
  for (std::size_t i = 0; i < detections.size(); ++i) {
    Found& found = result.found.emplace_back(Found{.box = detections[i].box});
    if (!track_of[i]) continue;
    const Track& track = tracks_[*track_of[i]];
    found = {.id = track.id, .box = track.filter.box()};
  }
  for (const Track& track : tracks_)
    if (track.id && !track.is_found && pts - track.last_found <= settings_.emit_lost_for)
      result.predicted.push_back({.id = *track.id,
                                  .box = track.filter.box(),
                                  .label = track.label,
                                  .lost_for = pts - track.last_found});
  return result;
}

void MultiObjectTracker::take(Track& track, const TrackedDetection& detection, nanoseconds pts) {
  const bool is_sure = detection.confidence >= settings_.association.high_confidence;
  track.filter.update(detection.box, is_sure ? 1 : kUnsureNoise);
  track.last_found = pts;
  track.is_found = true;
  // The encoding of a half-covered thing is partly that of the thing in front.
  if (is_sure && detection.encoding) {
    const double age = seconds_of(pts - track.last_encoded);
    const double memory = seconds_of(settings_.encoding_memory);
    const double share = memory > 0 ? -std::expm1(-age / memory) : 1;
    track.encoding = mixed(track.encoding, *detection.encoding, share);
    track.last_encoded = pts;
  }
  confirm_if_due(track, detection.confidence, pts);
}

void MultiObjectTracker::begin(const TrackedDetection& detection, nanoseconds pts) {
  Track track{.filter = KalmanFilter(detection.box, settings_.motion),
              .label = detection.label,
              .first_found = pts,
              .last_found = pts,
              .last_encoded = pts};
  if (detection.encoding) track.encoding = mixed({}, *detection.encoding, 1);
  if (detection.confidence >= settings_.confirm_at_once) track.id = Uuid::random(engine_);
  tracks_.push_back(std::move(track));
}

void MultiObjectTracker::confirm_if_due(Track& track, double confidence, nanoseconds pts) {
  if (track.id) return;
  if (confidence >= settings_.confirm_at_once || pts - track.first_found >= settings_.confirm_after)
    track.id = Uuid::random(engine_);
}

nlohmann::json MultiObjectTracker::save() const {
  std::ostringstream engine;
  engine << engine_;
  nlohmann::json tracks = nlohmann::json::array();
  for (const Track& track : tracks_) {
    nlohmann::json& saved = tracks.emplace_back();
    saved = {{"filter", track.filter.save()},
             {"label", track.label},
             {"first_found", time_json(track.first_found)},
             {"last_found", time_json(track.last_found)},
             {"last_encoded", time_json(track.last_encoded)},
             {"is_found", track.is_found},
             {"encoding", track.encoding}};
    if (track.id) saved["id"] = track.id->to_string();
  }
  nlohmann::json saved = {{"engine", engine.str()}, {"tracks", std::move(tracks)}};
  if (pts_) saved["pts"] = time_json(*pts_);
  return saved;
}

MultiObjectTracker MultiObjectTracker::restore(const nlohmann::json& saved,
                                               const TrackerSettings& settings) {
  const auto refuse = [](const std::string& what) {
    throw InvalidArgument(ErrorCode::invalid_json,
                          "MultiObjectTracker: not a result of save(): " + what);
  };
  MultiObjectTracker tracker(settings);
  try {
    std::istringstream engine(saved.at("engine").get<std::string>());
    if (!(engine >> tracker.engine_)) refuse("\"engine\" is not the state of a random engine");
    if (saved.contains("pts")) tracker.pts_ = time_at(saved, "pts");
    for (const nlohmann::json& json : saved.at("tracks")) {
      if (!tracker.pts_) refuse("there are tracks without a \"pts\"");
      Track track{.filter = KalmanFilter::restore(json.at("filter"), settings.motion),
                  .label = json.at("label").get<std::size_t>(),
                  .first_found = time_at(json, "first_found"),
                  .last_found = time_at(json, "last_found"),
                  .last_encoded = time_at(json, "last_encoded"),
                  .is_found = json.at("is_found").get<bool>(),
                  .encoding = json.at("encoding").get<std::vector<float>>()};
      if (json.contains("id")) track.id = Uuid::parse(json.at("id").get<std::string>());
      const auto [earliest, latest] =
          std::minmax({track.first_found, track.last_found, track.last_encoded});
      if (latest > *tracker.pts_ || earliest < nanoseconds::min() / 2 ||
          *tracker.pts_ > nanoseconds::max() / 2)
        refuse("a track was found after \"pts\", or more than 146 years away");
      tracker.tracks_.push_back(std::move(track));
    }
  } catch (const nlohmann::json::exception& error) {
    refuse(error.what());
  }
  // Encodings that update() cannot have made would make a later update() fail.
  std::vector<TrackView> views;
  for (const Track& track : tracker.tracks_) views.push_back({.encoding = track.encoding});
  try {
    check_encodings(views, {});
  } catch (const InvalidArgument& error) {
    refuse(error.what());
  }
  return tracker;
}

}  // namespace vcap
