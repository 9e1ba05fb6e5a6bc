// SPDX-License-Identifier: Apache-2.0
//
// A layer includes only layers under it. Public headers include no other library than OpenCV's core
// and nlohmann_json (docs/architecture.md). The tests read every #include of the tree.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "support/paths.hpp"

namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Texts = std::vector<std::string>;

/// Each layer with the layers directly under it. It may also include what these may include.
const std::map<std::string, std::set<std::string>> kLayers = {
    {"base", {}},
    {"model", {"base"}},
    {"image", {"model"}},
    {"algorithms", {"model"}},
    {"batching", {"base"}},
    {"capsule", {"model", "batching"}},
    {"files", {"base"}},
    {"loading/crypto", {"files", "capsule"}},
    {"loading/archive", {"loading/crypto"}},
    {"loading/plugin", {"files", "capsule"}},
    {"loading/resources", {"files", "capsule"}},
    {"download", {"loading/resources"}},
    {"loading", {"loading/archive", "loading/plugin", "loading/resources"}},
    {"isolation", {"loading"}},
    {"backends", {"files", "capsule", "image", "algorithms"}},
    {"media", {"files", "model"}},
    {"sources", {"media"}},
    {"opencv_io", {"media"}},
    {"records", {"media", "image", "algorithms"}},
    {"messages", {"records"}},
    {"plan", {"capsule"}},
    {"workers", {"base"}},
    {"observe", {"records", "capsule"}},
    {"streams", {"sources", "records", "plan", "workers", "observe", "loading"}},
    {"pipeline", {"streams"}},
    {"jobs", {"pipeline"}},
    {"view", {"pipeline"}},
    {"cluster", {"jobs"}},
    {"nats", {"cluster"}},
    {"cli", {"jobs", "view", "cluster", "backends", "algorithms"}},
};

/// The headers in include/vcap itself. They are for users and the command, not for other layers.
const std::set<std::string> kUmbrellas = {"vcap/vcap.hpp", "vcap/core.hpp", "vcap/capsule.hpp"};

bool may_include(const std::string& layer, const std::string& other) {
  if (layer == other) return true;
  for (const std::string& under : kLayers.at(layer)) {
    if (may_include(under, other)) return true;
  }
  return false;
}

struct File {
  std::string path;  ///< relative to the tree's root, such as "src/model/uuid.cpp"
  Texts lines;

  bool is_public() const { return path.starts_with("include/"); }
  bool is_umbrella() const {
    return is_public() && kUmbrellas.contains(path.substr(std::string("include/").size()));
  }
};

struct Include {
  std::string place;   ///< such as "src/model/uuid.cpp:3"
  std::string target;  ///< the text between the quotes or brackets
  bool quoted;
};

std::vector<Include> includes_of(const File& file) {
  static const std::regex directive(R"re(^\s*#\s*include\s*(["<])([^">]+)[">].*)re");
  std::vector<Include> includes;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_match(file.lines[i], match, directive)) continue;
    includes.push_back({file.path + ":" + std::to_string(i + 1), match[2], match[1] == "\""});
  }
  return includes;
}

/// The layer of a file: "model" for "include/vcap/model/uuid.hpp", "src/model/json_view.hpp" and
/// these paths without their first folders; "loading/crypto" for
/// "src/loading/crypto/encryption.hpp"; "" for a path without a folder. A folder in a layer that is
/// no layer belongs to that layer.
std::string layer_of(std::string path) {
  for (const std::string prefix : {"include/", "src/", "vcap/"}) {
    if (path.starts_with(prefix)) path.erase(0, prefix.size());
  }
  const std::size_t first = path.find('/');
  if (first == std::string::npos) return "";
  const std::string within = path.substr(0, path.find('/', first + 1));
  return kLayers.contains(within) ? within : path.substr(0, first);
}

/// What is wrong with an #include of the project's own headers; nullopt if it is valid.
std::optional<std::string> broken_layer_rule(const File& file, const Include& include) {
  const bool own = include.quoted || include.target.starts_with("vcap/");
  if (!own || file.is_umbrella()) return std::nullopt;
  const std::string layer = layer_of(file.path);
  if (kUmbrellas.contains(include.target)) {
    if (layer == "cli") return std::nullopt;
    return "umbrella " + include.target + " is for users; include what is used of it";
  }
  if (file.is_public() && !include.target.starts_with("vcap/")) {
    return "public header includes private " + include.target;
  }
  const std::string other = layer_of(include.target);
  if (!kLayers.contains(other)) return include.target + " names no layer";
  if (may_include(layer, other)) return std::nullopt;
  return "layer " + layer + " may not include " + other + " (" + include.target + ")";
}

/// What is wrong with an #include of another library in a public header; nullopt if it is valid.
std::optional<std::string> broken_library_rule(const File& file, const Include& include) {
  const std::string& target = include.target;
  if (!file.is_public() || include.quoted || target.starts_with("vcap/")) return std::nullopt;
  // Headers of the standard library have no folder and no extension.
  const bool standard = target.find_first_of("/.") == std::string::npos;
  if (standard || target.starts_with("nlohmann/") || target.starts_with("opencv2/core/") ||
      target == "opencv2/core.hpp") {
    return std::nullopt;
  }
  return "public header shows " + target + "; only OpenCV's core and nlohmann_json may be seen";
}

template <class Rule>
Texts complaints(const std::vector<File>& files, Rule rule) {
  Texts found;
  for (const File& file : files) {
    for (const Include& include : includes_of(file)) {
      if (const auto broken = rule(file, include)) found.push_back(include.place + ": " + *broken);
    }
  }
  return found;
}

File read(const fs::path& path, const fs::path& root) {
  std::ifstream stream(path);
  if (!stream) throw std::runtime_error("cannot read " + path.string());
  File file{path.lexically_relative(root).generic_string(), {}};
  for (std::string line; std::getline(stream, line);) file.lines.push_back(line);
  return file;
}

/// Every C++ file in include/ and src/.
const std::vector<File>& tree() {
  static const std::vector<File> files = [] {
    const fs::path root = vcap::test::in_sources("");
    std::vector<File> found;
    for (const char* const folder : {"include", "src"}) {
      for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
        const std::string extension = entry.path().extension().string();
        if (extension == ".hpp" || extension == ".cpp") found.push_back(read(entry.path(), root));
      }
    }
    return found;
  }();
  return files;
}

TEST(Tree, HasFilesOnlyInKnownLayers) {
  std::set<std::string> layers;
  std::size_t includes = 0;
  for (const File& file : tree()) {
    includes += includes_of(file).size();
    if (file.is_umbrella()) continue;
    EXPECT_TRUE(kLayers.contains(layer_of(file.path))) << file.path << " is in no layer's folder";
    layers.insert(layer_of(file.path));
  }
  // This fails if a wrong folder or expression finds no files or no includes.
  EXPECT_THAT(layers, testing::IsSupersetOf(
                          {"base", "model", "batching", "capsule", "loading", "streams", "cli"}));
  EXPECT_GT(includes, tree().size());
}

TEST(Tree, IncludesOnlyLowerLayers) {
  EXPECT_THAT(complaints(tree(), broken_layer_rule), IsEmpty());
}

TEST(Tree, ShowsNoOtherLibraryInPublicHeaders) {
  EXPECT_THAT(complaints(tree(), broken_library_rule), IsEmpty());
}

/// The complaints of the layer rule about one file with these lines.
Texts layer_complaints(const std::string& path, const Texts& lines) {
  return complaints({File{path, lines}}, broken_layer_rule);
}

TEST(LayerRule, NamesFileLineAndLayersOfAnUpwardInclude) {
  EXPECT_THAT(layer_complaints("src/model/uuid.cpp", {"// text", "#include <string>", "",
                                                      "#include \"vcap/capsule/backend.hpp\""}),
              ElementsAre("src/model/uuid.cpp:4: layer model may not include capsule "
                          "(vcap/capsule/backend.hpp)"));
}

TEST(LayerRule, FindsEveryWayToWriteAnInclude) {
  for (const char* const line : {"#include \"vcap/plan/plan.hpp\"", "#include <vcap/plan/plan.hpp>",
                                 "  #  include \"plan/plan_graph.hpp\"  // for the graph",
                                 "#include\"plan/plan_graph.hpp\""}) {
    EXPECT_THAT(layer_complaints("include/vcap/base/log.hpp", {line}), testing::SizeIs(1)) << line;
  }
}

TEST(LayerRule, RefusesLayersSideBySide) {
  EXPECT_THAT(layer_complaints("src/image/crop.cpp", {"#include \"vcap/algorithms/iou.hpp\""}),
              ElementsAre(HasSubstr("image may not include algorithms")));
  EXPECT_THAT(layer_complaints("src/batching/core.cpp", {"#include \"vcap/model/frame.hpp\""}),
              ElementsAre(HasSubstr("batching may not include model")));
  EXPECT_THAT(layer_complaints("src/capsule/info.cpp", {"#include \"vcap/image/crop.hpp\""}),
              ElementsAre(HasSubstr("capsule may not include image")));
  EXPECT_THAT(layer_complaints("src/plan/plan.cpp", {"#include \"vcap/algorithms/iou.hpp\""}),
              ElementsAre(HasSubstr("plan may not include algorithms")));
}

TEST(LayerRule, DistinguishesLayersWithinALayer) {
  EXPECT_THAT(layer_complaints("src/loading/crypto/encryption.hpp",
                               {"#include \"loading/archive/archive.hpp\""}),
              ElementsAre(HasSubstr("loading/crypto may not include loading/archive")));
  EXPECT_THAT(layer_complaints("src/loading/load_capsule.cpp",
                               {"#include \"loading/archive/archive.hpp\""}),
              IsEmpty());
  EXPECT_THAT(
      layer_complaints("src/backends/openvino/engine.hpp", {"#include \"backends/cells.hpp\""}),
      IsEmpty());
}

TEST(LayerRule, AllowsLayersFurtherDown) {
  EXPECT_THAT(layer_complaints("src/pipeline/pipeline.cpp",
                               {"#include \"streams/stream.hpp\"", "#include \"base/text.hpp\"",
                                "#include \"vcap/image/draw_nodes.hpp\"",
                                "#include \"vcap/batching/batch_policy.hpp\""}),
              IsEmpty());
  EXPECT_THAT(layer_complaints("src/cli/main.cpp",
                               {"#include \"vcap/vcap.hpp\"", "#include \"vcap/base/log.hpp\"",
                                "#include \"vcap/algorithms/iou.hpp\""}),
              IsEmpty());
}

TEST(LayerRule, RefusesAnUmbrellaWithinALayer) {
  EXPECT_THAT(layer_complaints("src/loading/load.cpp", {"#include \"vcap/capsule.hpp\""}),
              ElementsAre(HasSubstr("umbrella vcap/capsule.hpp")));
}

TEST(LayerRule, LetsAnUmbrellaIncludeAnything) {
  EXPECT_THAT(layer_complaints("include/vcap/capsule.hpp", {"#include \"vcap/image/image.hpp\""}),
              IsEmpty());
}

TEST(LayerRule, RefusesAPrivateHeaderInAPublicOne) {
  EXPECT_THAT(layer_complaints("include/vcap/model/uuid.hpp", {"#include \"base/text.hpp\""}),
              ElementsAre(HasSubstr("public header includes private base/text.hpp")));
}

TEST(LayerRule, RefusesAnIncludeWithoutItsLayer) {
  EXPECT_THAT(layer_complaints("src/model/uuid.cpp", {"#include \"json_view.hpp\""}),
              ElementsAre(HasSubstr("json_view.hpp names no layer")));
}

TEST(LibraryRule, RefusesEveryLibraryButTwoInAPublicHeader) {
  const auto refused = [](const std::string& path, const std::string& target) {
    const File file{path, {"#include <" + target + ">"}};
    return !complaints({file}, broken_library_rule).empty();
  };
  for (const char* const target :
       {"tbb/task_arena.h", "oneapi/tbb.h", "zip.h", "spdlog/spdlog.h", "fmt/format.h", "sodium.h",
        "libavcodec/avcodec.h", "openssl/evp.h", "CLI/CLI.hpp", "opencv2/imgproc.hpp",
        "opencv2/opencv.hpp", "unistd.h"}) {
    EXPECT_TRUE(refused("include/vcap/base/log.hpp", target)) << target;
    EXPECT_TRUE(refused("include/vcap/vcap.hpp", target)) << target;
    EXPECT_FALSE(refused("src/base/log.cpp", target)) << target;
  }
  for (const char* const target : {"vector", "stop_token", "opencv2/core.hpp",
                                   "opencv2/core/mat.hpp", "nlohmann/json_fwd.hpp"}) {
    EXPECT_FALSE(refused("include/vcap/base/log.hpp", target)) << target;
  }
}

}  // namespace
