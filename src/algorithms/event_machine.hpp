// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "algorithms/event_geometry.hpp"
#include "algorithms/event_tracks.hpp"
#include "vcap/algorithms/event_detector.hpp"

namespace vcap {

/// The state of an EventDetector. Thread safety: thread-compatible.
class EventDetector::Machine {
 public:
  Machine(EventRules rules, std::uint64_t seed);

  std::vector<EventChange> update(const Frame& frame, cv::Size resolution,
                                  std::span<const DetectionNode> nodes);
  std::vector<EventChange> finish(EventEnd reason);

  const EventRules& rules() const noexcept { return rules_; }
  std::size_t open_count() const noexcept { return open_; }
  std::size_t track_count() const noexcept { return tracks_.size(); }

 private:
  /// The state of a CountRule.
  struct Count {
    std::uint32_t rule = 0;
    std::int64_t tracks = 0;             ///< that count, missed ones included
    std::int64_t untracked = 0;          ///< nodes without a track in this frame
    std::optional<EventMoment> since{};  ///< since when the count is past its bound, or back
    std::unique_ptr<Event> open{};
  };

  void index_rules();
  std::size_t picture() const noexcept { return rules_.zones.size(); }  ///< as the index of a zone
  std::uint32_t zone_index(const std::string& name) const;

  // Checks, which change no state.
  void check(const Frame& frame, cv::Size resolution) const;
  void collect(std::span<const DetectionNode> nodes);

  // Steps of update().
  void pass_discontinuity(const Frame& frame);
  void begin_paths_anew(std::chrono::nanoseconds gap);
  void resize(cv::Size resolution);
  void follow(FoundNode& found);
  void forget_missed();
  void count_untracked();
  void evaluate_counts();
  void evaluate(Count& count);

  // Steps of follow().
  void leave_zones(const FoundNode& found);
  void enter_zones(const FoundNode& found);
  void visit(const FoundNode& found, std::uint32_t zone);
  void use(const FoundNode& found, ZoneVisit& visit, RuleUse& use);
  void cross_lines(const FoundNode& found);
  void change_attributes(const FoundNode& found);

  bool fits(const EventRule& rule, const DetectionNode& node) const;
  Event event_of(const EventRule& rule, EventKind kind) const;
  Event event_of(const EventRule& rule, EventKind kind, const FoundNode& found) const;
  std::unique_ptr<Event> begin(Event event);
  void end(std::unique_ptr<Event> event, EventEnd reason, const EventMoment& moment);
  void add_momentary(Event event);
  void end_visit(ZoneVisit& visit, EventEnd reason, const EventMoment& moment);
  void end_all(EventEnd reason);

  EventRules rules_;
  std::mt19937_64 engine_;
  std::vector<std::vector<std::uint32_t>> rules_of_zone_;  ///< the last one: of the whole picture
  std::vector<bool> used_zones_;
  std::vector<std::vector<std::uint32_t>> rules_of_line_;
  std::vector<std::uint32_t> attribute_rules_;
  std::vector<Count> counts_;
  std::vector<std::uint32_t> count_of_rule_;  ///< its index in counts_, by rule
  bool counts_untracked_ = false;

  EventTracks tracks_;
  ZoneMap zones_{};
  std::vector<LineShape> lines_;
  cv::Size resolution_{};
  std::int64_t updates_ = 0;
  std::optional<EventMoment> last_{};  ///< the frame before
  EventMoment now_{};
  std::chrono::nanoseconds settled_from_{0};  ///< until then, a discontinuity was not long ago
  std::size_t open_ = 0;

  // Of the present update.
  std::vector<EventChange> changes_;
  std::vector<FoundNode> found_;
  std::vector<FoundNode> untracked_;
};

}  // namespace vcap
