// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "streams/call_places.hpp"
#include "streams/jobs_by_ticket.hpp"

namespace vcap {

class Stream;
struct Route;

/// A call for frames that FrameBatches gathers at a step. Keeps their lane alive. Thread safety:
/// value.
struct BatchTurn {
  std::shared_ptr<const Route> route{};
  std::size_t step = 0;
  bool has_place = false;  ///< it was begun and has its place; FrameBatches::take() is next
};

/// What one stream has waiting for a place of one capsule (CallPlaces): frames, and calls for
/// several. Thread safety: the stream's mutex guards what is not constant.
struct ParkedCalls final : CallLine {
  explicit ParkedCalls(std::weak_ptr<Stream> whose) : stream(std::move(whose)) {}

  void go_on() override;

  const std::weak_ptr<Stream> stream;
  JobsByTicket jobs{};
  std::vector<BatchTurn> turns{};
};

}  // namespace vcap
