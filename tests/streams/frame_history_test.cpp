// SPDX-License-Identifier: Apache-2.0
#include "streams/frame_history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/every_schedule.hpp"

namespace vcap::test {
namespace {

using Bounds = FrameHistory::Bounds;
using Ticket = std::optional<std::uint64_t>;

Frame history_frame(std::uint64_t ticket, bool is_null = false) {
  Frame frame;
  frame.index = static_cast<std::int64_t>(ticket);
  frame.is_null = is_null;
  return frame;
}

/// The frames of `text`, from ticket 0. A dot is a frame, `n` a null frame, and a frame after `|`
/// breaks off.
FrameHistory history_of(const std::string& text) {
  FrameHistory history;
  std::uint64_t ticket = 0;
  bool breaks_off = false;
  for (const char sign : text) {
    if (sign != '|') {
      history.begin(ticket, history_frame(ticket, sign == 'n'), breaks_off);
      ++ticket;
    }
    breaks_off = sign == '|';
  }
  return history;
}

struct OffsetCase {
  std::string frames;
  std::uint64_t ticket;
  int offset;
  Ticket at_null;    ///< if the edge is null
  Ticket at_repeat;  ///< if the edge repeats
  Bounds bounds{};
};

TEST(FrameHistory, GivesTheFrameAtAnOffset) {
  const OffsetCase cases[] = {
      {"...", 1, 0, 1, 1},           {"...", 1, -1, 0, 0},
      {"...", 1, 1, 2, 2},           {"...", 0, -1, {}, 0},
      {"...", 1, -3, {}, 0},         {"...", 1, 3, {}, 2},
      {".|..", 1, -1, {}, 1},        {".|..", 2, -2, {}, 1},
      {"..|.", 0, 2, {}, 1},         {".|.|.", 1, 1, {}, 1},
      {".n.", 2, -1, {}, 2},         {".n.", 2, -2, 0, 0},
      {"n..", 2, -2, {}, 1},         {".nn", 0, 2, {}, 0},
      {"....", 2, -1, 1, 1, {1, 3}}, {"....", 2, -2, {}, 1, {1, 3}},
      {"....", 1, 2, {}, 2, {1, 3}},
  };
  for (const OffsetCase& one : cases) {
    SCOPED_TRACE(testing::Message()
                 << one.frames << ", offset " << one.offset << " from " << one.ticket);
    const FrameHistory history = history_of(one.frames);
    for (const StencilEdge edge : {StencilEdge::null, StencilEdge::error})
      EXPECT_EQ(history.at(one.ticket, one.offset, edge, one.bounds), one.at_null);
    EXPECT_EQ(history.at(one.ticket, one.offset, StencilEdge::repeat, one.bounds), one.at_repeat);
  }
}

struct AheadCase {
  std::string frames;
  std::uint64_t ticket;
  std::int64_t ahead;
  bool reaches;
  Bounds bounds{};
};

TEST(FrameHistory, KnowsWhetherLaterFramesAreThere) {
  const AheadCase cases[] = {
      {"..", 1, 0, true},    {"..", 0, 1, true},         {"..", 0, 2, false},
      {"..", 1, 1, false},   {"..|.", 0, 9, true},  // no later frame follows frame 1
      {"..|.", 2, 1, false}, {"..", 1, 1, true, {0, 2}}, {"..", 1, 1, false, {0, 3}},
  };
  for (const AheadCase& one : cases) {
    SCOPED_TRACE(testing::Message() << one.frames << ", " << one.ahead << " after " << one.ticket);
    FrameHistory history = history_of(one.frames);
    EXPECT_EQ(history.reaches(one.ticket, one.ahead, one.bounds), one.reaches);
    history.end();
    EXPECT_TRUE(history.reaches(one.ticket, one.ahead, one.bounds));
  }
}

TEST(FrameHistory, ForgetsFramesBeforeATicket) {
  FrameHistory history = history_of(".....");
  history.forget_before(2);
  EXPECT_EQ(history.size(), 3u);
  EXPECT_EQ(history.at(3, -1, StencilEdge::null, {}), 2u);
  EXPECT_EQ(history.at(3, -2, StencilEdge::null, {}), std::nullopt);
  EXPECT_EQ(history.at(3, -3, StencilEdge::repeat, {}), 2u);
  EXPECT_EQ(history.frame(4).index, 4);
  history.forget_before(9);
  EXPECT_EQ(history.size(), 0u);
  history.begin(9, history_frame(9), false);
  EXPECT_EQ(history.at(9, 0, StencilEdge::null, {}), 9u);
}

/// A frame as the test remembers it.
struct Known {
  std::uint64_t ticket;
  std::uint64_t segment;
  bool is_null;
};

/// FrameHistory::at(), by a search of all frames.
Ticket expected_at(const std::vector<Known>& frames, const Known& from, int offset, bool repeats) {
  const auto start = static_cast<std::int64_t>(from.ticket);
  const std::int64_t target = start + offset;
  Ticket nearest = repeats ? Ticket(from.ticket) : std::nullopt;
  for (const Known& frame : frames) {
    if (frame.segment != from.segment || frame.is_null) continue;
    const auto place = static_cast<std::int64_t>(frame.ticket);
    if (place < std::min(start, target) || place > std::max(start, target)) continue;
    const auto least = nearest ? static_cast<std::int64_t>(*nearest) : start;
    const bool is_nearer = std::abs(place - target) < std::abs(least - target);
    if (repeats ? is_nearer : place == target) nearest = frame.ticket;
  }
  return nearest;
}

TEST(FrameHistory, AgreesWithASearchOfAllFramesInEverySchedule) {
  static constexpr std::uint64_t kFrames = 4;
  const std::size_t schedules = run_every_schedule([](Choices& choices) {
    FrameHistory history;
    std::vector<Known> known;
    std::uint64_t begun = 0;
    std::uint64_t segment = 0;
    std::uint64_t forgotten = 0;
    const auto begin = [&](bool breaks_off, bool is_null) {
      history.begin(begun, history_frame(begun, is_null), breaks_off);
      if (breaks_off) ++segment;
      known.push_back({begun++, segment, is_null});
    };
    const auto check = [&] {
      EXPECT_EQ(history.size(), known.size());
      for (const Known& from : known) {
        EXPECT_EQ(history.frame(from.ticket).index, static_cast<std::int64_t>(from.ticket));
        for (int offset = -4; offset <= 4; ++offset) {
          EXPECT_EQ(history.at(from.ticket, offset, StencilEdge::null, {}),
                    expected_at(known, from, offset, false));
          EXPECT_EQ(history.at(from.ticket, offset, StencilEdge::repeat, {}),
                    expected_at(known, from, offset, true))
              << "offset " << offset << " from " << from.ticket;
        }
        for (std::int64_t ahead = 0; ahead <= 3; ++ahead)
          EXPECT_EQ(
              history.reaches(from.ticket, ahead, {}),
              from.ticket + static_cast<std::uint64_t>(ahead) < begun || from.segment != segment);
      }
    };
    std::vector<Event> events;
    do {
      check();
      const bool may_begin = begun < kFrames;
      events = {{may_begin, [&] { begin(false, false); }},
                {may_begin, [&] { begin(true, false); }},
                {may_begin, [&] { begin(false, true); }},
                {forgotten < 2 && !known.empty(), [&] {
                   ++forgotten;
                   history.forget_before(known.front().ticket + 1);
                   known.erase(known.begin());
                 }}};
    } while (happens_one_of(choices, events) && !testing::Test::HasFailure());
  });
  EXPECT_GT(schedules, 500u);
}

}  // namespace
}  // namespace vcap::test
