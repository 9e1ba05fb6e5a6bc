// SPDX-License-Identifier: Apache-2.0
#include "vcap/loading/load_capsule.hpp"

#include <gmock/gmock.h>

#include "support/temporary_folder.hpp"
#include "vcap/base/abi.hpp"
#include "vcap/loading/package_capsule.hpp"

namespace vcap {
namespace {

TEST(LoadCapsule, LoadsWhatPackageCapsuleWrote) {
  test::TemporaryFolder folder;
  const auto model = folder.write("model.onnx", "weights");
  PackageContents contents{.libraries = {{std::string(platform()), VCAP_TEST_PLUGINS "/good.so"}},
                           .files = {{"model.onnx", model}}};
  package_capsule(contents, folder / "a.cap");
  auto capsule = load_capsule(folder / "a.cap");
  EXPECT_EQ(capsule->name(), "fixture");
  EXPECT_EQ(capsule->process_frame(Frame{}).size(), 1u);
}

}  // namespace
}  // namespace vcap
