// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/model_cache.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "backends/engine_conformance.hpp"
#include "support/file_size_limit.hpp"
#include "vcap/base/log.hpp"

namespace vcap::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kKey(64, 'a'), kOtherKey(64, 'b');

class ModelCacheTest : public testing::Test {
 protected:
  ModelCacheTest() {
    set_log_hook([this](LogLevel, std::string_view line) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(line);
    });
  }
  ~ModelCacheTest() override { set_log_hook({}); }

  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  fs::path file_of(const std::string& key) const { return folder / (key + ".model"); }
  static void keep(const ModelCache& cache, const std::string& key, const std::string& content) {
    cache.keep(key, [&] { return content; });
  }
  /// Sets the time of its last use to `hours` ago.
  void age(const std::string& key, int hours) const {
    fs::last_write_time(file_of(key), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }

  TemporaryFolder folder;
  const ModelCache cache{folder.path(), 10000};

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST_F(ModelCacheTest, GivesBackTheSameBytes) {
  std::string content = "line\n";
  for (int i = 0; i < 2000; ++i) content += static_cast<char>(i);
  EXPECT_EQ(cache.find(kKey), std::nullopt);
  keep(cache, kKey, content);
  EXPECT_EQ(cache.find(kKey), content);
  EXPECT_EQ(cache.find(kKey), content);
  EXPECT_EQ(ModelCache(folder.path(), 10000).find(kKey), content);
  EXPECT_EQ(cache.find(kOtherKey), std::nullopt);
  keep(cache, kKey, "another");
  EXPECT_EQ(cache.find(kKey), "another");
  EXPECT_THAT(lines(), IsEmpty());
  EXPECT_EQ(folder.names().size(), 1u);  // no staged file is left
}

TEST_F(ModelCacheTest, RemovesAndLogsDamagedFiles) {
  const std::string content(500, 'x');
  keep(cache, kKey, content);
  const std::string whole = read_file(file_of(kKey));
  std::vector<std::string> damaged;
  for (const std::size_t size : {0u, 1u, 63u, 64u, 65u, 563u})
    damaged.push_back(whole.substr(0, size));
  for (const std::size_t at : {0u, 63u, 64u, 300u, 563u}) {
    damaged.push_back(whole);
    damaged.back()[at] ^= 1;
  }
  damaged.push_back(whole + "y");
  damaged.push_back(std::string(9000, '\0'));
  damaged.push_back(std::string(20000, '\0'));
  for (const std::string& bytes : damaged) {
    folder.write(kKey + ".model", bytes);
    const std::size_t before = lines().size();
    EXPECT_EQ(cache.find(kKey), std::nullopt) << bytes.size();
    EXPECT_FALSE(fs::exists(file_of(kKey))) << bytes.size();
    ASSERT_EQ(lines().size(), before + 1);
    EXPECT_THAT(lines().back(), AllOf(HasSubstr(folder.path().string()),
                                      HasSubstr(kKey.substr(0, 12)), HasSubstr("compiled again")));
  }
}

TEST_F(ModelCacheTest, RefusesAFileUnderTheNameOfAnotherKey) {
  keep(cache, kKey, "of a");
  keep(cache, kOtherKey, "of b");
  fs::rename(file_of(kKey), file_of(kOtherKey));
  EXPECT_EQ(cache.find(kOtherKey), std::nullopt);
  EXPECT_FALSE(fs::exists(file_of(kOtherKey)));
  EXPECT_THAT(lines(), Contains(HasSubstr("digest")));
}

TEST_F(ModelCacheTest, IgnoresEntriesThatAreNoRegularFiles) {
  fs::create_directory(file_of(kKey));
  EXPECT_EQ(cache.find(kKey), std::nullopt);
  ASSERT_EQ(::mkfifo(file_of(kOtherKey).c_str(), 0600), 0);
  EXPECT_EQ(cache.find(kOtherKey), std::nullopt);  // and does not wait for a writer
}

TEST_F(ModelCacheTest, StaysWithinItsBoundAndRemovesTheLeastRecentlyUsed) {
  const std::string content(3000, 'x');  // three fit into 10,000 bytes
  const auto key = [](int i) { return std::string(64, static_cast<char>('a' + i)); };
  for (int i = 0; i < 3; ++i) {
    keep(cache, key(i), content);
    age(key(i), 10 - i);
  }
  EXPECT_TRUE(cache.find(key(0)));  // the oldest becomes the newest
  keep(cache, key(3), content);
  EXPECT_FALSE(fs::exists(file_of(key(1))));
  for (const int i : {0, 2, 3}) EXPECT_TRUE(fs::exists(file_of(key(i)))) << i;
  keep(cache, key(4), std::string(9900, 'x'));  // needs the room of all others
  EXPECT_THAT(folder.names(), testing::ElementsAre(key(4) + ".model"));
  keep(cache, key(5), std::string(10001 - 64, 'x'));  // larger than the bound
  EXPECT_EQ(cache.find(key(5)), std::nullopt);
  EXPECT_TRUE(cache.find(key(4)));
}

TEST_F(ModelCacheTest, RemovesOnlyWhatADeadProcessLeftBehind) {
  const fs::path old = folder.write(".staged-1-2", "x"), fresh = folder.write(".staged-1-3", "x"),
                 foreign = folder.write("readme.txt", std::string(20000, 'x'));
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  fs::last_write_time(foreign, fs::file_time_type::clock::now() - std::chrono::hours(2));
  keep(cache, kKey, "content");
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh));
  EXPECT_TRUE(fs::exists(foreign));
}

TEST_F(ModelCacheTest, MakesItsFolder) {
  const ModelCache deep(folder / "a/b/c", 10000);
  EXPECT_EQ(deep.find(kKey), std::nullopt);
  keep(deep, kKey, "content");
  EXPECT_EQ(deep.find(kKey), "content");
  fs::remove_all(folder / "a");  // removed while in use
  EXPECT_EQ(deep.find(kKey), std::nullopt);
  keep(deep, kKey, "content");
  EXPECT_EQ(deep.find(kKey), "content");
}

TEST_F(ModelCacheTest, LogsAFolderThatCannotBeMadeOrWritten) {
  const fs::path file = folder.write("file", "x");
  for (const fs::path& place : {file, file / "within", fs::path("/proc/vcap")}) {
    const ModelCache none(place, 10000);
    const std::size_t before = lines().size();
    EXPECT_EQ(none.find(kKey), std::nullopt);
    keep(none, kKey, "content");
    EXPECT_EQ(none.find(kKey), std::nullopt);
    ASSERT_EQ(lines().size(), before + 1) << place;
    EXPECT_THAT(lines().back(), AllOf(HasSubstr(place.string()), HasSubstr("not stored")));
  }
}

TEST_F(ModelCacheTest, LogsAFullDiskAndLeavesNothingBehind) {
  keep(cache, kOtherKey, "kept before");
  {
    const FileSizeLimit limit(1000);
    keep(cache, kKey, std::string(5000, 'x'));
  }
  EXPECT_EQ(cache.find(kKey), std::nullopt);
  EXPECT_EQ(cache.find(kOtherKey), "kept before");
  EXPECT_EQ(folder.names().size(), 1u);
  EXPECT_THAT(lines(), Contains(HasSubstr("check the free space")));
}

TEST_F(ModelCacheTest, LogsAModelThatCannotBeExported) {
  cache.keep(kKey, []() -> std::string { throw std::runtime_error("no export"); });
  EXPECT_THAT(lines(), Contains(HasSubstr("no export")));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST_F(ModelCacheTest, IsSharedByProcesses) {
  // Each process writes and reads four keys, whose contents show the key. No process may see a part
  // of a file.
  std::vector<pid_t> processes;
  for (int process = 0; process < 4; ++process) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const ModelCache shared(folder.path(), 10000);
      bool sound = true;
      for (int round = 0; round < 300; ++round) {
        const char letter = static_cast<char>('a' + (round + process) % 4);
        const std::string key(64, letter), content(3000, letter);
        keep(shared, key, content);
        const auto found = shared.find(key);
        sound = sound && (!found || *found == content);
      }
      ::_exit(sound && lines().empty() ? 0 : 1);
    }
    processes.push_back(child);
  }
  for (const pid_t process : processes) {
    int status = -1;
    ::waitpid(process, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (const std::string& name : folder.names()) EXPECT_THAT(name, testing::EndsWith(".model"));
}

TEST_F(ModelCacheTest, HasAnotherKeyForEachSettingThatChangesTheCompiledModel) {
  const std::string bytes = "model", other_bytes = "modem";
  const ModelFile model{"net.onnx", std::as_bytes(std::span(bytes)), {}};
  const auto key = [&](const auto& change) {
    ModelFile file = model;
    PictureInput input;
    std::optional<cv::Size> size(cv::Size(10, 6));
    EngineSettings settings;
    std::string engine = "openvino 1 CPU";
    change(file, input, size, settings, engine);
    return ModelCache::key_of(file, input, size, settings, engine);
  };
  const std::string same = key([](auto&...) {});
  EXPECT_EQ(same.size(), 64u);
  EXPECT_EQ(same, key([](auto&...) {}));

  std::set<std::string> keys{same};
  std::size_t changes = 1;
#define VCAP_EXPECT_ANOTHER_KEY(change)                                             \
  ++changes;                                                                        \
  keys.insert(key([&]([[maybe_unused]] auto& file, [[maybe_unused]] auto& input,    \
                      [[maybe_unused]] auto& size, [[maybe_unused]] auto& settings, \
                      [[maybe_unused]] auto& engine) { change; }));                 \
  EXPECT_EQ(keys.size(), changes) << #change
  VCAP_EXPECT_ANOTHER_KEY(file.bytes = std::as_bytes(std::span(other_bytes)));
  VCAP_EXPECT_ANOTHER_KEY(file.weights = std::as_bytes(std::span(bytes)));
  VCAP_EXPECT_ANOTHER_KEY(file.weights = file.bytes; file.bytes = {});
  VCAP_EXPECT_ANOTHER_KEY(file.name = "net.xml");
  VCAP_EXPECT_ANOTHER_KEY(input.name = "picture");
  VCAP_EXPECT_ANOTHER_KEY(input.colors = PictureInput::Colors::bgr);
  VCAP_EXPECT_ANOTHER_KEY(input.colors = PictureInput::Colors::gray);
  VCAP_EXPECT_ANOTHER_KEY(input.layout = PictureInput::Layout::nhwc);
  VCAP_EXPECT_ANOTHER_KEY(input.mean = {1});
  VCAP_EXPECT_ANOTHER_KEY((input.mean = {1, 1, 1}));
  VCAP_EXPECT_ANOTHER_KEY(input.mean[0] = 1e-12);
  VCAP_EXPECT_ANOTHER_KEY(input.scale = {2});
  VCAP_EXPECT_ANOTHER_KEY((input.scale = {2, 1, 1}));
  VCAP_EXPECT_ANOTHER_KEY(size = cv::Size(6, 10));
  VCAP_EXPECT_ANOTHER_KEY(size.reset());
  VCAP_EXPECT_ANOTHER_KEY(settings.goal = PerformanceGoal::latency);
  VCAP_EXPECT_ANOTHER_KEY(settings.precision = Precision::f32);
  VCAP_EXPECT_ANOTHER_KEY(settings.streams = 1);
  VCAP_EXPECT_ANOTHER_KEY(settings.threads = 1);
  VCAP_EXPECT_ANOTHER_KEY(settings.constants["a"] = std::vector<float>(12));
  VCAP_EXPECT_ANOTHER_KEY(settings.constants["a1"] = std::vector<float>(2));
  VCAP_EXPECT_ANOTHER_KEY(engine = "openvino 2 CPU");
  // The concatenated texts of these fields are equal.
  VCAP_EXPECT_ANOTHER_KEY(input.name = "x|1|0"; input.mean = {3});
  VCAP_EXPECT_ANOTHER_KEY(input.name = "x"; (input.mean = {1, 0, 3}));
#undef VCAP_EXPECT_ANOTHER_KEY

  // Settings without an effect on the compiled model do not change the key: needless misses would
  // make the cache useless.
  EXPECT_EQ(same, key([](auto& file, auto& input, auto&, auto& settings, auto&) {
              file.name = "other.onnx";
              input.padding = 114;
              input.fit = PictureInput::Fit::letterbox;
              input.interpolation = PictureInput::Interpolation::area;
              settings.cache_folder = "/elsewhere";
              settings.cache_bytes = 1;
            }));
}

class EngineCache : public EngineConformance {};

TEST_P(EngineCache, GivesEqualOutputsColdAndWarm) {
  TemporaryFolder folder;
  const cv::Mat picture = noise(kPicture, 1);
  for (const std::string name : {"two_outputs.onnx", "convolution.onnx", "flat_constant.onnx"}) {
    settings.cache_folder = std::nullopt;
    settings.constants.clear();
    if (name == "flat_constant.onnx") settings.constants["factor"] = {1, 2, 3, 4};
    input.mean = {16, 32, 64};
    const auto expected = run(TestModel(name), picture);
    settings.cache_folder = folder.path();
    for (int round = 0; round < 3; ++round) {
      const auto outputs = run(TestModel(name), picture);
      ASSERT_EQ(outputs.size(), expected.size());
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        EXPECT_EQ(outputs[i].name, expected[i].name);
        EXPECT_EQ(outputs[i].shape, expected[i].shape);
        EXPECT_EQ(outputs[i].values, expected[i].values);
      }
    }
    // The cached model does not contain the constant's value.
    if (name != "flat_constant.onnx") continue;
    settings.constants["factor"] = {5, 6, 7, 8};
    EXPECT_THAT(run(TestModel(name), picture).at(1).values, testing::ElementsAre(6, 7, 8, 9));
  }
  if (GetParam() == "openvino") {
    EXPECT_EQ(folder.names().size(), 3u);  // one for each model, hit by the later rounds
  }
}

TEST_P(EngineCache, CompilesAgainIfACachedModelIsDamagedOrCannotBeStored) {
  TemporaryFolder folder;
  settings.cache_folder = folder.path();
  const cv::Mat picture = noise(kPicture, 2);
  const auto expected = run(TestModel("convolution.onnx"), picture);
  std::atomic<int> logged{0};
  set_log_hook([&](LogLevel, std::string_view) { ++logged; });
  int damaged = 0;
  for (const std::string& name : folder.names()) {
    std::string bytes = read_file(folder / name);
    bytes[bytes.size() / 2] ^= 1;
    folder.write(name, bytes);
    ++damaged;
  }
  EXPECT_EQ(run(TestModel("convolution.onnx"), picture)[0].values, expected[0].values);
  EXPECT_EQ(logged, damaged);
  settings.cache_folder = "/proc/vcap";
  EXPECT_EQ(run(TestModel("convolution.onnx"), picture)[0].values, expected[0].values);
  set_log_hook({});
}

VCAP_INSTANTIATE_FOR_ENGINES(EngineCache);

}  // namespace
}  // namespace vcap::test
