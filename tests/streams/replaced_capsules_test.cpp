// SPDX-License-Identifier: Apache-2.0
#include "streams/replaced_capsules.hpp"

#include <gmock/gmock.h>

#include <thread>

#include "support/closing_capsule.hpp"
#include "support/manual_clock.hpp"
#include "support/pipeline_helpers.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<CapsuleSlot> called_once() {
  auto slot = std::make_shared<CapsuleSlot>(make_detector("people", "person"), QuarantinePolicy{},
                                            std::make_shared<ManualClock>(), 0,
                                            std::function<void(bool)>());
  slot->capsule->process_frame(Frame{.image = cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(0))});
  return slot;
}

TEST(ReplacedCapsules, DoNotAccumulateWithoutQueries) {
  ReplacedCapsules replaced;
  for (std::uint64_t i = 0; i < 50; ++i) {
    replaced.add(called_once());  // and released
    ASSERT_EQ(replaced.past().size(), i == 0 ? 0u : 1u);
    if (i > 0) {
      EXPECT_EQ(replaced.past().begin()->second.calls, i) << "all but the last one";
    }
  }
}

TEST(ReplacedCapsules, AreAtWorkUntilTheirLastCallEnds) {
  ReplacedCapsules replaced;
  std::shared_ptr<CapsuleSlot> one = called_once();
  std::shared_ptr<CapsuleSlot> back = called_once();
  replaced.add(one);
  replaced.add(back);
  replaced.add(one);
  EXPECT_THAT(replaced.at_work({back}), ElementsAre(one));
  EXPECT_THAT(replaced.past(), IsEmpty());
  one.reset();
  EXPECT_THAT(replaced.at_work({back}), IsEmpty());
  ASSERT_EQ(replaced.past().size(), 1u);
  EXPECT_EQ(replaced.past().begin()->second.calls, 1u);
  EXPECT_EQ(replaced.past().begin()->second.running, 0u);
}

TEST(ReplacedCapsules, DoNotWaitForOneThatIsBeingClosed) {
  Latch closes, may_close;
  const auto capsule = make_closing_capsule(
      detector_info("people", "person"),
      [](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
        return DetectionNodes::all();
      },
      [&] {
        closes.open();
        may_close.wait();
      });
  capsule->process_frame(Frame{.image = cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(0))});
  auto slot = std::make_shared<CapsuleSlot>(
      capsule, QuarantinePolicy{}, std::make_shared<ManualClock>(), 0, std::function<void(bool)>());
  const std::weak_ptr<CapsuleSlot> watched = slot;
  ReplacedCapsules replaced;
  replaced.add(slot);
  std::jthread closing([&] { capsule->close(); });
  closes.wait();
  std::jthread releasing([slot = std::move(slot)]() mutable { slot.reset(); });
  while (!watched.expired()) std::this_thread::yield();
  // Its statistics come only after close(). If at_work() waited for them, this would not end.
  EXPECT_THAT(replaced.at_work({}), IsEmpty());
  EXPECT_THAT(replaced.past(), IsEmpty());
  const std::vector<CapsuleSlot::Backends> ending = replaced.ending();
  ASSERT_EQ(ending.size(), 1u);
  may_close.open();
  releasing.join();
  DevicesByName devices;
  add_past_to(devices, ending[0]);
  EXPECT_THAT(replaced.at_work({}), IsEmpty());
  EXPECT_THAT(replaced.ending(), IsEmpty());
  EXPECT_EQ(replaced.past().size(), devices.size());
}

}  // namespace
}  // namespace vcap::test
