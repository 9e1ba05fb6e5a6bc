// SPDX-License-Identifier: Apache-2.0
#include "vcap/loading/load_capsule.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <future>
#include <sstream>

#include <nlohmann/json.hpp>

#include "loading/capsule_builder.hpp"
#include "support/bounded_wait.hpp"
#include "support/throws_error.hpp"
#include "vcap/loading/package_capsule.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using test::CapsuleBuilder;
using test::small_frame;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::filesystem::path pack(const TemporaryFolder& folder, const std::string& plugin,
                           const std::map<std::string, std::string>& files = {}) {
  PackageContents contents{.libraries = {{std::string(platform()), test::plugin_path(plugin)}}};
  for (const auto& [name, content] : files)
    contents.files[name] = folder.write("inputs/" + name, content);
  package_capsule(contents, folder / "a.cap");
  return folder / "a.cap";
}

/// The reports of the fixture's backend on each file of its capsule.
std::vector<json> report(Capsule& capsule) {
  std::vector<json> reports;
  for (const DetectionNode& node : capsule.process_frame(small_frame(), {}, {}, "s"))
    reports.push_back(node.extra_data);
  return reports;
}

std::uintptr_t address_of(const json& report) { return report.at("address").get<std::uintptr_t>(); }

/// Whether the address is within a mapping of the file.
bool is_mapped_from(std::uintptr_t address, const std::filesystem::path& file) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream(line) >> std::hex >> begin >> dash >> end;
    if (begin <= address && address < end) return line.ends_with(file.native());
  }
  return false;
}

TEST(LoadCapsule, GivesTheCapsuleWithItsDescriptionAndBackend) {
  const TemporaryFolder folder;
  const auto capsule = load_capsule(pack(folder, "good", {{"model.onnx", "weights"}}));
  EXPECT_EQ(capsule->name(), "fixture");
  EXPECT_EQ(json(capsule->info()), json(fixture::info("fixture")));
  EXPECT_THAT(capsule->devices(), ElementsAre("CPU:0"));
  const auto reports = report(*capsule);
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports[0].at("name"), "model.onnx");
  EXPECT_EQ(reports[0].at("text"), "weights");
}

TEST(LoadCapsule, GivesFilesAsPageAlignedViewsIntoTheMappedFile) {
  const TemporaryFolder folder;
  const std::string large(100'000, 'w');
  const auto path = pack(folder, "good", {{"a.txt", "text"}, {"models/b.bin", large}});
  const auto capsule = load_capsule(path);
  const auto reports = report(*capsule);
  ASSERT_THAT(reports, SizeIs(2));
  EXPECT_EQ(reports[1].at("text"), large);
  for (const json& one : reports) {
    EXPECT_EQ(address_of(one) % 4096, 0u);
    EXPECT_TRUE(is_mapped_from(address_of(one), path)) << one.at("name");
  }
}

TEST(LoadCapsule, RefusesDeflatedFiles) {
  const std::string model(3000, 'w');
  CapsuleBuilder builder;
  builder.file("model.bin", model);
  const std::string& library = builder.files[test::library_entry()];
  for (const std::string& deflated :
       {std::string("capsule.json"), test::library_entry(), std::string("model.bin")}) {
    const auto entry = [&](const std::string& name, const std::string& content) {
      return name == deflated ? test::deflated_entry(name, content)
                              : test::stored_entry(name, content);
    };
    const std::string bytes =
        test::zip_bytes({entry("capsule.json", builder.listed().dump()),
                         entry(test::library_entry(), library), entry("model.bin", model)});
    EXPECT_THAT([&] { load_capsule(std::as_bytes(std::span(bytes))); },
                ThrowsError<InvalidCapsuleError>(ErrorCode::unsupported_entry,
                                                 HasSubstr("only 0 (stored) is allowed")))
        << deflated;
  }
}

/// The resident memory of a file's mappings, in KiB.
std::size_t resident_kib(const std::filesystem::path& file) {
  std::size_t all = 0;
  bool is_its = false;
  std::ifstream maps("/proc/self/smaps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string first;
    std::size_t kib = 0;
    words >> first >> kib;
    if (first.find('-') != std::string::npos) is_its = line.ends_with(file.native());
    if (is_its && first == "Rss:") all += kib;
  }
  return all;
}

TEST(LoadCapsule, LoadsNoPagesThatNoBackendReads) {
  const TemporaryFolder folder;
  const std::string large(16 << 20, 'w');
  const auto path = pack(folder, "good", {{"large.bin", large}});
  // The fixture gives the whole file.
  const auto capsule = load_capsule(path, {.outputs = {.max_bytes = 2 * large.size()}});
  EXPECT_LT(resident_kib(path), 1024u);
  EXPECT_EQ(report(*capsule).at(0).at("text"), large);
  EXPECT_GE(resident_kib(path), large.size() / 1024);  // the fixture has read it
}

TEST(LoadCapsule, CopiesBytesThatTheCallerOwns) {
  const TemporaryFolder folder;
  std::string bytes = test::read_file(pack(folder, "good", {{"model.onnx", "weights"}}));
  const auto capsule = load_capsule(std::as_bytes(std::span(bytes)));
  std::ranges::fill(bytes, '\0');
  const auto reports = report(*capsule);
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports[0].at("text"), "weights");
  EXPECT_EQ(address_of(reports[0]) % 4096, 0u);
}

TEST(LoadCapsule, PassesConfigAndDevicesToTheBackend) {
  const TemporaryFolder folder;
  const auto capsule = load_capsule(pack(folder, "good", {{"a", ""}}),
                                    {.config = {{"key", 7}}, .devices = {"GPU:0", "CPU:3"}});
  EXPECT_THAT(capsule->devices(), ElementsAre("CPU:3"));
  const auto reports = report(*capsule);
  EXPECT_EQ(reports.at(0).at("config"), json({{"key", 7}}));
  EXPECT_EQ(reports.at(0).at("device"), "CPU:3");
}

TEST(LoadCapsule, PassesConfigsWithTheDefaultsOfTheirSchemas) {
  const TemporaryFolder folder;
  const auto capsule = load_capsule(pack(folder, "configured", {}), {.devices = {"CPU:0"}});
  capsule->open_stream({.id = "door", .config = {{"line", {1, 2}}}});

  const json seen = *capsule->process_frame(small_frame(), {}, {}, "door")[0].extra_data;

  EXPECT_EQ(seen["config"], json({{"model", "small"}}));
  EXPECT_EQ(seen["stream"], json({{"line", {1, 2}}, {"both_ways", true}}));
  EXPECT_THAT(
      [&] {
        capsule->open_stream({.id = "gate", .config = {{"line", {1}}}});
      },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_config,
                                   HasSubstr("stream gate's config of capsule configured")));
  EXPECT_THAT(
      [&] { capsule->process_frame(small_frame(), {}, {}, "yard"); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_config, HasSubstr("/line is missing")));
}

TEST(LoadCapsule, NeedsNoConfigToReadADescription) {
  const TemporaryFolder folder;
  const auto path = pack(folder, "configured", {});
  EXPECT_EQ(load_capsule(path, {.inference_mode = false})->name(), "configured");
  EXPECT_THAT(
      [&] {
        load_capsule(path, {.inference_mode = false, .config = {{"model", 1}}});
      },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_config, HasSubstr("/model is 1")));
}

TEST(LoadCapsule, UsesTheDeviceProvidersOfTheHost) {
  class Provider final : public DeviceProvider {
   public:
    std::string name() const override { return "test"; }
    std::vector<Device> discover() const override { return {{.name = "CPU:7"}}; }
  };
  class Nobody final : public DeviceProvider {
   public:
    std::string name() const override { return "nobody"; }
    std::vector<Device> discover() const override { throw std::logic_error("asked"); }
  };
  const TemporaryFolder folder;
  const auto path = pack(folder, "good");
  const LoadOptions options{.device_providers = {std::make_shared<Provider>()}};
  EXPECT_THAT(load_capsule(path, options)->devices(), SizeIs(1));
  EXPECT_NO_THROW(
      load_capsule(path, {.devices = {"CPU:0"}, .device_providers = {std::make_shared<Nobody>()}}));
}

TEST(LoadCapsule, StartsNoBackendWithoutInferenceMode) {
  const TemporaryFolder folder;
  const auto capsule =
      load_capsule(pack(folder, "throws_in_load_backend"), {.inference_mode = false});
  EXPECT_EQ(capsule->name(), "fixture");
  EXPECT_THAT(capsule->devices(), SizeIs(0));
  EXPECT_THAT([&] { capsule->process_frame(small_frame()); },
              ThrowsError<CapsuleLoadError>(ErrorCode::no_backend, HasSubstr("inference_mode")));
}

TEST(LoadCapsule, MapsLibrariesOfTheSameDigestOnce) {
  const TemporaryFolder folder;
  const auto path = pack(folder, "counting", {{"a", ""}});
  const auto other_path = folder / "b.cap";
  std::filesystem::copy(path, other_path);
  const auto first = load_capsule(path);
  const auto second = load_capsule(other_path);
  const json of_first = report(*first).at(0).at("config");
  const json of_second = report(*second).at(0).at("config");
  EXPECT_EQ(of_first.at("at"), of_second.at("at"));
  EXPECT_EQ(of_second.at("made"), of_first.at("made").get<int>() + 1);
}

TEST(LoadCapsule, LoadsTheNewCodeOfAReplacedFile) {
  const TemporaryFolder folder;
  const auto old_capsule = load_capsule(pack(folder, "version_1", {{"a", "old"}}));
  const auto new_capsule = load_capsule(pack(folder, "version_2", {{"a", "new"}}));
  EXPECT_EQ(old_capsule->info().version, 1);
  EXPECT_EQ(new_capsule->info().version, 2);
  EXPECT_EQ(report(*old_capsule).at(0).at("text"), "old");
  EXPECT_EQ(report(*new_capsule).at(0).at("text"), "new");
  EXPECT_EQ(load_capsule(pack(folder, "version_1"))->info().version, 1);
}

TEST(LoadCapsule, KeepsFilesWhileBackendsLiveIfTheCapsuleFileIsRemoved) {
  const TemporaryFolder folder;
  const auto path = pack(folder, "good", {{"model.onnx", "weights"}});
  const auto capsule = load_capsule(path);
  std::filesystem::remove(path);
  EXPECT_EQ(report(*capsule).at(0).at("text"), "weights");
}

TEST(LoadCapsule, LoadsFromManyThreadsAtOnce) {
  const TemporaryFolder folder;
  const TemporaryFolder other;
  const std::filesystem::path paths[] = {pack(folder, "version_1", {{"a", "1"}}),
                                         pack(other, "version_2", {{"a", "2"}})};
  constexpr int kThreads = 8;
  test::Meeting start(kThreads);
  std::vector<std::future<std::shared_ptr<Capsule>>> loads;
  for (int i = 0; i < kThreads; ++i)
    loads.push_back(std::async(std::launch::async, [&start, path = paths[i % 2]] {
      start.arrive_and_wait("the other loads");
      return load_capsule(path);
    }));
  for (int i = 0; i < kThreads; ++i) {
    const auto capsule = loads[static_cast<std::size_t>(i)].get();
    EXPECT_EQ(capsule->info().version, i % 2 + 1);
    EXPECT_EQ(report(*capsule).at(0).at("text"), std::to_string(i % 2 + 1));
  }
}

}  // namespace
}  // namespace vcap
