// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/event.hpp"

namespace vcap {

std::string_view to_string(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::enter:
      return "enter";
    case EventKind::leave:
      return "leave";
    case EventKind::stay:
      return "stay";
    case EventKind::cross:
      return "cross";
    case EventKind::count:
      return "count";
    case EventKind::attribute:
      return "attribute";
  }
  return "unknown";
}

std::string_view to_string(EventEnd reason) noexcept {
  switch (reason) {
    case EventEnd::momentary:
      return "momentary";
    case EventEnd::left:
      return "left";
    case EventEnd::track_lost:
      return "track_lost";
    case EventEnd::over:
      return "over";
    case EventEnd::discontinuity:
      return "discontinuity";
    case EventEnd::stream_end:
      return "stream_end";
    case EventEnd::interrupted:
      return "interrupted";
  }
  return "unknown";
}

std::string_view to_string(EventChange::Phase phase) noexcept {
  return phase == EventChange::Phase::begin ? "begin" : "end";
}

}  // namespace vcap
