// SPDX-License-Identifier: Apache-2.0
#include "view/stream_comparison.hpp"

#include <algorithm>

namespace vcap {

void StreamComparison::add(const FrameRecord& a, const FrameDifference& difference) {
  using Kind = FrameDifference::Kind;
  ++counts_.frames;
  ++over_time_.at(a.frame.pts).frames;
  end_ = std::max(end_, a.frame.pts);
  other_ids_ = false;
  if (difference.is_equal) {
    ++counts_.equal;
    for (const DetectionNode& node : a.objects) follow_equal(node);
    return;
  }
  const auto count = [&](Kind kind, std::int64_t& into, Series series) {
    const std::int64_t found = std::ranges::count(difference.kinds, kind);
    into += found;
    if (found > 0) over_time_.add(a.frame.pts, series, found);
  };
  count(Kind::appeared, counts_.appeared, kAppeared);
  count(Kind::vanished, counts_.vanished, kVanished);
  count(Kind::moved, counts_.moved, kMoved);
  count(Kind::renamed, counts_.renamed, kOther);
  const auto attributes = static_cast<std::int64_t>(difference.attributes.size());
  const auto messages = static_cast<std::int64_t>(difference.messages.size());
  counts_.attributes += attributes;
  counts_.messages += messages;
  if (difference.drops_differ) ++counts_.drops;
  if (attributes + messages > 0) over_time_.add(a.frame.pts, kOther, attributes + messages);
  const std::int64_t switches = counts_.track_switches;
  follow_tracks(difference);
  if (difference.score() > 0 || counts_.track_switches > switches) ++counts_.different;
}

void StreamComparison::follow_equal(const DetectionNode& node) {
  if (node.track_id) static_cast<void>(set_partner(*node.track_id, *node.track_id));
  for (const DetectionNode& child : node.children) follow_equal(child);
}

void StreamComparison::follow_tracks(const FrameDifference& difference) {
  for (const NodePair& pair : difference.pairs) {
    if (pair.a == nullptr || pair.b == nullptr || !pair.a->track_id || !pair.b->track_id) continue;
    if (set_partner(*pair.a->track_id, *pair.b->track_id)) ++counts_.track_switches;
    if (*pair.a->track_id != *pair.b->track_id) other_ids_ = true;
  }
}

bool StreamComparison::set_partner(const Uuid& track, const Uuid& partner) {
  if (partners_.size() == kMostTracks && !partners_.contains(track)) partners_.clear();
  const auto [place, is_new] = partners_.try_emplace(track, partner);
  const bool is_switch = !is_new && place->second != partner;
  place->second = partner;
  return is_switch;
}

void StreamComparison::add_alone(ComparisonSide side, const FrameRecord& record) {
  ++(side == ComparisonSide::a ? counts_.only_a : counts_.only_b);
  end_ = std::max(end_, record.frame.pts);
  if (!lone_.empty() && lone_.back().side == side && lone_.back().last + 1 == record.frame.index) {
    lone_.back().last = record.frame.index;
    ++lone_.back().count;
    return;
  }
  if (lone_.size() == kMostLone) {
    ++other_lone_;
    return;
  }
  lone_.push_back({.side = side,
                   .first = record.frame.index,
                   .last = record.frame.index,
                   .count = 1,
                   .begin = record.frame.pts});
}

}  // namespace vcap
