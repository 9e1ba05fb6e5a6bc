// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cluster/nats_server.hpp"
#include "support/clip_writer.hpp"
#include "support/outputs_in.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"

namespace vcap::test {

/// A broker, workers as processes, and jobs of the capsule "steady" over clips of this test.
class SiteTest : public testing::Test {
 protected:
  using Json = nlohmann::json;

  SiteTest() { av_log_set_level(AV_LOG_ERROR); }

  void clip(const std::string& name, int frames) const {
    std::filesystem::create_directories(folder_ / "clips");
    write_clip(folder_ / "clips" / name, {.frames = frames, .options = b_frames(false)});
  }

  /// Writes a job file over all clips, with outputs in the folder OUT, and returns its path.
  std::string job(const std::string& out, const Json& config = Json::object(),
                  const Json& more = Json::object()) const {
    Json json = {{"schema", "vcap.job/1"},
                 {"capsules", {{{"path", capsule("steady")}, {"config", config}}}},
                 {"sources", {"clips/"}},
                 {"outputs", {{"folder", out}, {"summary", true}}}};
    json.update(more);
    return folder_.write(out + ".json", json.dump()).string();
  }

  /// What one process writes.
  Outputs outputs_of_one_process(const Json& config = Json::object(),
                                 const Json& more = Json::object()) const {
    const Result result = vcap({"run", "--job", job("alone", config, more)});
    EXPECT_EQ(result.exit_code, 0) << result;
    return outputs_in(folder_ / "alone");
  }

  /// The `vcap` of an earlier version, if VCAP_TEST_OLD_COMMAND names one (tests/long.sh); else
  /// this one.
  static std::string old_command() {
    const char* const given = std::getenv("VCAP_TEST_OLD_COMMAND");
    return given ? given : test::built("src/cli/vcap");
  }

  std::vector<std::string> on_cluster(std::vector<std::string> words) const {
    words.insert(words.end(), {"--cluster", server_.url()});
    return words;
  }

  std::unique_ptr<Command> worker(int number, const std::vector<std::string>& more = {},
                                  const std::string& program = test::built("src/cli/vcap")) const {
    std::vector<std::string> words{"worker",
                                   "--nats",
                                   server_.url(),
                                   "--capsules",
                                   (folder_ / ("worker" + std::to_string(number))),
                                   "--slots",
                                   "1"};
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<Command>(words, Command::Setup{.program = program});
  }

  const TemporaryFolder folder_;
  NatsServer server_;
};

}  // namespace vcap::test
