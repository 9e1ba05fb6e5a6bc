// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "capsule/fake_capsule.hpp"
#include "support/throws_error.hpp"
#include "vcap/capsule/stream_state.hpp"

namespace vcap::test {

struct PlacesState : BaseStreamState {
  int frames = 0;
};
struct CountsState final : BaseStreamState {};
struct MorePlacesState final : PlacesState {};

namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(StateOf, GivesTheStateInItsOwnType) {
  PlacesState state;
  state.frames = 7;
  BaseStreamState& base = state;
  EXPECT_EQ(&state_of<PlacesState>(base), &state);
  const BaseStreamState& constant = state;
  EXPECT_EQ(state_of<PlacesState>(constant).frames, 7);
  MorePlacesState more;
  EXPECT_EQ(&state_of<PlacesState>(more), &more) << "of a derived type";
}

/// A capsule whose backend asks for a PlacesState.
std::unique_ptr<Capsule> asking_for_places(StreamStateFactory factory) {
  CapsuleInfo info = detector_info();
  info.stream_state = std::move(factory);
  return make_capsule(std::move(info),
                      [](const Frame&, DetectionNodes, const auto&, BaseStreamState& state) {
                        ++state_of<PlacesState>(state).frames;
                        return DetectionNodes::all();
                      });
}

TEST(StateOf, ExplainsThatTheCapsuleHasNoState) {
  EXPECT_THAT([] { asking_for_places({})->process_frame(frame_at(0)); },
              ThrowsError<TypeMismatch>(
                  ErrorCode::type_mismatch,
                  AllOf(HasSubstr("the capsule has no stream state"),
                        HasSubstr("asks for one of type vcap::test::PlacesState"),
                        HasSubstr(".stream_state = "
                                  "vcap::make_stream_state<vcap::test::PlacesState>()"))));
}

TEST(StateOf, ExplainsThatTheStateIsOfAnotherType) {
  EXPECT_THAT(
      [] {
        asking_for_places(make_stream_state<CountsState>())
            ->process_frame(frame_at(0), {}, {}, "a");
      },
      ThrowsError<TypeMismatch>(
          ErrorCode::type_mismatch,
          AllOf(HasSubstr("the capsule's stream state is of type vcap::test::CountsState"),
                HasSubstr("asks for one of type vcap::test::PlacesState"))));
  EXPECT_NO_THROW(
      asking_for_places(make_stream_state<PlacesState>())->process_frame(frame_at(0), {}, {}, "a"));
}

}  // namespace
}  // namespace vcap::test
