// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/event_detector.hpp"

#include <utility>

#include "algorithms/event_machine.hpp"

namespace vcap {

EventDetector::EventDetector(EventRules rules, std::uint64_t seed)
    : machine_(std::make_unique<Machine>(std::move(rules), seed)) {}
EventDetector::EventDetector(EventDetector&&) noexcept = default;
EventDetector& EventDetector::operator=(EventDetector&&) noexcept = default;
EventDetector::~EventDetector() = default;

std::vector<EventChange> EventDetector::update(const Frame& frame, cv::Size resolution,
                                               std::span<const DetectionNode> nodes) {
  return machine_->update(frame, resolution, nodes);
}

std::vector<EventChange> EventDetector::finish(EventEnd reason) { return machine_->finish(reason); }

const EventRules& EventDetector::rules() const& noexcept { return machine_->rules(); }
EventRules EventDetector::rules() && { return machine_->rules(); }
std::size_t EventDetector::open_count() const noexcept { return machine_->open_count(); }
std::size_t EventDetector::track_count() const noexcept { return machine_->track_count(); }

}  // namespace vcap
