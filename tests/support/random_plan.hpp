// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/operation_helpers.hpp"

namespace vcap::test {

inline std::string words_of(const std::vector<std::shared_ptr<Capsule>>& capsules) {
  std::string words;
  for (const auto& capsule : capsules) words += nlohmann::json(capsule->info()).dump() + "\n";
  return words;
}

inline std::string digest(const std::string& text) {
  return std::to_string(std::hash<std::string>()(text));
}

/// The frames that the capsule has seen lately, by index, and the stream's info.
struct RecentState final : BaseStreamState {
  explicit RecentState(const StreamInfo& given) : info(given) {}
  const StreamInfo info;
  std::deque<std::pair<std::int64_t, std::string>> recent{};
};

/// Notes that frame. Returns a digest of it and of the frames before that a bounded state may
/// depend on. `every_frame`: it is called for each frame that is not null. Otherwise only the
/// indexes tell how many frames lie between two calls.
inline std::string recall(RecentState& state, std::int64_t warmup, bool every_frame,
                          const Frame& frame, const std::string& shown) {
  state.recent.emplace_back(
      frame.index, std::to_string(frame.index) + to_string(frame.discontinuity).data() + shown);
  if (every_frame && state.recent.size() > static_cast<std::size_t>(warmup) + 1)
    state.recent.pop_front();
  while (!every_frame && state.recent.front().first < frame.index - warmup)
    state.recent.pop_front();
  std::string all = std::to_string(state.info.seed) + state.info.config->dump();
  for (const auto& [index, one] : state.recent) all += one + ",";
  return digest(all);
}

inline std::string notes_in(DetectionNodes nodes) {
  std::string notes;
  for (const DetectionNode& node : std::move(nodes).take())
    notes += node.extra_data.at("note").get<std::string>();
  return notes;
}

inline DetectionNodes one_note(const std::string& kind, const std::string& text) {
  DetectionNodes result = DetectionNodes::all();
  result.add(note(kind, text));
  return result;
}

inline CapsuleInfo noting_info(std::string name, const std::string& kind, bool takes_nodes) {
  CapsuleInfo info =
      takes_nodes ? all_info(std::move(name), kind) : detector_info(std::move(name), kind);
  info.output_type.extra_data = {"note"};
  return info;
}

/// A capsule with bounded state: notes the frames or the notes of nodes that it has seen lately.
inline std::shared_ptr<Capsule> make_recent(CapsuleInfo info, std::int64_t warmup) {
  const std::string kind = info.output_type.detections.front();
  info.stream_state = make_stream_state<RecentState>();
  info.warmup = warmup;
  return make_capsule(std::move(info), [=](const Frame& frame, DetectionNodes nodes, const auto&,
                                           BaseStreamState& state) {
    return one_note(kind, recall(static_cast<RecentState&>(state), warmup, true, frame,
                                 notes_in(std::move(nodes))));
  });
}

/// The same for single nodes; it replaces their notes.
inline std::shared_ptr<Capsule> make_recent_single(const std::string& name, const std::string& kind,
                                                   std::int64_t warmup) {
  CapsuleInfo info = single_info(name, kind);
  info.output_type.extra_data = {"note"};
  info.stream_state = make_stream_state<RecentState>();
  info.warmup = warmup;
  return make_capsule(std::move(info), [=](const Frame& frame, DetectionNodes nodes, const auto&,
                                           BaseStreamState& state) {
    nlohmann::json& own = nodes.node().extra_data["note"];
    own = recall(static_cast<RecentState&>(state), warmup, false, frame, own.dump());
    return nodes;
  });
}

/// Notes the frames or the notes of nodes in its window. With a warm-up, also those of earlier
/// windows.
inline std::shared_ptr<Capsule> make_around(CapsuleInfo info, Stencil stencil,
                                            std::optional<std::int64_t> warmup = {}) {
  const std::string kind = info.output_type.detections.front();
  const std::size_t present =
      static_cast<std::size_t>(std::ranges::find(stencil.offsets, 0) - stencil.offsets.begin());
  info.stencil = std::move(stencil);
  info.warmup = warmup;
  if (warmup) info.stream_state = make_stream_state<RecentState>();
  return make_window_capsule(
      std::move(info), [=](std::span<const Frame> frames, std::span<DetectionNodes> nodes,
                           const auto&, BaseStreamState& state) {
        std::string all = shown(frames);
        for (DetectionNodes& list : nodes) all += notes_in(std::move(list));
        if (warmup)
          all = recall(static_cast<RecentState&>(state), *warmup, false, frames[present], all);
        return one_note(kind, digest(all));
      });
}

/// Notes the frame, or the notes of its nodes. Returns no node for some frames; throws for others.
inline DetectionNodes plain_result(const std::string& kind, const Frame& frame,
                                   DetectionNodes nodes) {
  if (frame.index % 13 == 7) throw std::runtime_error("no 7");
  if (nodes.kind() == Size::none && frame.index % 11 > 6) return DetectionNodes::all();
  return one_note(kind, digest(std::to_string(frame.index) + notes_in(std::move(nodes))));
}

inline std::shared_ptr<Capsule> make_plain(CapsuleInfo info) {
  const std::string kind = info.output_type.detections.front();
  return make_capsule(std::move(info),
                      [kind](const Frame& frame, DetectionNodes nodes, const auto&, auto&) {
                        return plain_result(kind, frame, std::move(nodes));
                      });
}

/// The same, but it also takes frames together.
inline std::shared_ptr<Capsule> make_plain_together(CapsuleInfo info, std::size_t most) {
  const std::string kind = info.output_type.detections.front();
  info.batch = BatchSizes{.maximum = most};
  return make_batch_capsule(
      std::move(info),
      [kind](std::span<const Frame> frames, std::span<DetectionNodes> nodes) {
        std::vector<DetectionNodes> results;
        for (std::size_t i = 0; i < frames.size(); ++i)
          results.push_back(plain_result(kind, frames[i], std::move(nodes[i])));
        return std::optional(std::move(results));
      },
      [kind](const Frame& frame, DetectionNodes nodes, const auto&, auto&) {
        return plain_result(kind, frame, std::move(nodes));
      });
}

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  int below(int bound) { return static_cast<int>(engine_() % static_cast<unsigned>(bound)); }
  template <class Value>
  const Value& one_of(const std::vector<Value>& values) {
    return values[static_cast<std::size_t>(below(static_cast<int>(values.size())))];
  }

 private:
  std::mt19937 engine_;
};

inline Stencil random_stencil(Dice& dice) {
  Stencil stencil{.offsets = {}, .edge = static_cast<StencilEdge>(dice.below(3))};
  for (const int offset : {2, -3, 0, -1, 1})
    if (offset == 0 || dice.below(3) == 0) stencil.offsets.push_back(offset);
  return stencil;
}

/// Capsules of all sorts; some depend on others; no state is unbounded.
inline std::vector<std::shared_ptr<Capsule>> random_capsules(Dice& dice) {
  std::vector<std::shared_ptr<Capsule>> capsules;
  std::vector<std::string> kinds;
  for (int i = 1 + dice.below(4); i > 0; --i) {
    const std::string name = "c" + std::to_string(i);
    if (!kinds.empty() && dice.below(4) == 0) {
      capsules.push_back(make_recent_single(name, dice.one_of(kinds), dice.below(6)));
      continue;
    }
    const bool takes_nodes = !kinds.empty() && dice.below(2) == 0;
    const std::string kind = takes_nodes ? dice.one_of(kinds) : "k" + std::to_string(i);
    if (!takes_nodes) kinds.push_back(kind);
    CapsuleInfo info = noting_info(name, kind, takes_nodes);
    const int sort = dice.below(5);
    const bool is_stateful = sort == 2 || sort == 4;
    if (is_stateful && dice.below(3) == 0) info.keeps_state_at = {Discontinuity::gap};
    if (sort == 0)
      capsules.push_back(make_plain(std::move(info)));
    else if (sort == 1)
      capsules.push_back(
          make_plain_together(std::move(info), static_cast<std::size_t>(2 + dice.below(4))));
    else if (sort == 2)
      capsules.push_back(make_recent(std::move(info), dice.below(6)));
    else if (sort == 3)
      capsules.push_back(make_around(std::move(info), random_stencil(dice)));
    else
      capsules.push_back(make_around(std::move(info), random_stencil(dice), dice.below(6)));
  }
  return capsules;
}

/// A random sequence of frames for IndexedSource.
inline std::string random_frames(Dice& dice) {
  std::string frames;
  for (int i = 1 + dice.below(60); i > 0; --i) frames += "............|>rl0n"[dice.below(18)];
  return frames;
}

}  // namespace vcap::test
