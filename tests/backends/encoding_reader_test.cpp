// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/encoding_reader.hpp"

#include <gtest/gtest.h>

#include "backends/reader_support.hpp"

namespace vcap {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;
using testing::Optional;

MadeOutputs vector_output(std::vector<std::size_t> shape, std::vector<float> values) {
  return MadeOutputs({9, 9}).add("embedding", std::move(shape), std::move(values));
}

TEST(EncodingReader, DividesByTheLength) {
  EXPECT_THAT(EncodingReader(EncodingSettings{})(vector_output({1, 2, 1, 1}, {3, -4})),
              Optional(ElementsAre(FloatEq(0.6f), FloatEq(-0.8f))));
}

TEST(EncodingReader, LeavesTheVectorUnchangedIfSet) {
  EXPECT_THAT(EncodingReader({.length = 2, .normalized = false})(vector_output({2}, {3, -4})),
              Optional(ElementsAre(3, -4)));
}

TEST(EncodingReader, NormalisesHugeAndTinyNumbers) {
  EXPECT_THAT(EncodingReader(EncodingSettings{})(vector_output({1, 2}, {3e38f, -3e38f})),
              Optional(ElementsAre(FloatEq(0.70710678f), FloatEq(-0.70710678f))));
  EXPECT_THAT(EncodingReader(EncodingSettings{})(vector_output({1, 2}, {0, 1e-38f})),
              Optional(ElementsAre(0, 1)));
}

TEST(EncodingReader, GivesNothingForBadNumbersOrAVectorWithoutLength) {
  for (const float bad : kBadNumbers) {
    EXPECT_EQ(EncodingReader(EncodingSettings{})(vector_output({1, 2}, {1, bad})), std::nullopt);
    EXPECT_EQ(EncodingReader({.normalized = false})(vector_output({1, 2}, {bad, 1})), std::nullopt);
  }
  EXPECT_EQ(EncodingReader(EncodingSettings{})(vector_output({1, 2}, {0, 0})), std::nullopt);
}

TEST(EncodingReader, RefusesOtherShapes) {
  expect_refused(
      EncodingReader({.length = 512}), vector_output({1, 2}, {1, 2}),
      AllOf(HasSubstr("EncodingReader: output \"embedding\" has the shape [1,2]; expected "
                      "is [1,512]"),
            HasSubstr("set output and length")));
  expect_refused(EncodingReader(EncodingSettings{}), vector_output({2, 2}, {1, 2, 3, 4}),
                 HasSubstr("expected is [1,N]"));
  expect_refused(EncodingReader(EncodingSettings{}), vector_output({1, 0}, {}),
                 HasSubstr("expected is [1,N]"));
}

}  // namespace
}  // namespace vcap
