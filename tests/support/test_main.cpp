// SPDX-License-Identifier: Apache-2.0
// The main function of all test programs. If a test hangs, it prints the name and ends the program.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace {

/// Long enough for the longest test under a sanitizer on a busy machine.
constexpr unsigned kSeconds = 600;

std::string message;  // written before the alarm is set, read by its handler

extern "C" void end_hung_test(int) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
  std::abort();
}

class HangLimit final : public testing::EmptyTestEventListener {
 public:
  explicit HangLimit(unsigned seconds) : seconds_(seconds) {}

 private:
  void OnTestStart(const testing::TestInfo& test) override {
    message = std::string("\n") + test.test_suite_name() + "." + test.name() +
              " hangs: it has run for " + std::to_string(seconds_) +
              " s (VCAP_TEST_SECONDS sets another limit; 0: none)\n";
    ::alarm(seconds_);
  }
  void OnTestEnd(const testing::TestInfo&) override { ::alarm(0); }

  const unsigned seconds_;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  const char* const given = std::getenv("VCAP_TEST_SECONDS");
  const unsigned seconds = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : kSeconds;
  std::signal(SIGALRM, end_hung_test);
  testing::UnitTest::GetInstance()->listeners().Append(new HangLimit(seconds));
  return RUN_ALL_TESTS();
}
