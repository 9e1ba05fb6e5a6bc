// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/distances.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Encoding = std::vector<float>;
using Encodings = std::vector<Encoding>;

Encodings random_encodings(std::size_t count, std::size_t length, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> element(0, 2);
  Encodings encodings(count, Encoding(length));
  for (Encoding& encoding : encodings)
    for (float& x : encoding) x = element(engine);
  return encodings;
}

double naive_cosine(const Encoding& a, const Encoding& b) {
  long double dot = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    dot += static_cast<long double>(a[i]) * b[i];
    aa += static_cast<long double>(a[i]) * a[i];
    bb += static_cast<long double>(b[i]) * b[i];
  }
  return static_cast<double>(1 - dot / std::sqrt(aa * bb));
}

double naive_euclidean(const Encoding& a, const Encoding& b) {
  long double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const long double difference = static_cast<long double>(a[i]) - b[i];
    sum += difference * difference;
  }
  return static_cast<double>(std::sqrt(sum));
}

template <class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(CosineDistances, AreZeroForEqualOneForPerpendicularTwoForOppositeDirections) {
  EXPECT_THAT(cosine_distances(Encoding{1, 0}, Encodings{{5, 0}, {0, 0.1f}, {-3, 0}, {1, 1}}),
              ElementsAre(0, 1, 2, FloatNear(1 - std::sqrt(0.5f), 1e-7f)));
}

TEST(CosineDistances, AgreeWithTheFormulaForEveryLength) {
  for (std::size_t length = 1; length <= 40; ++length) {
    const Encodings rows = random_encodings(3, length, 1), columns = random_encodings(4, length, 2);
    const cv::Mat1d matrix = cosine_distance_matrix(rows, columns);
    ASSERT_EQ(matrix.size(), cv::Size(4, 3));
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t j = 0; j < columns.size(); ++j)
        EXPECT_NEAR(matrix(int(i), int(j)), naive_cosine(rows[i], columns[j]), 1e-14);
  }
}

TEST(CosineDistances, StayWithinZeroAndTwo) {
  for (const Encoding& encoding : random_encodings(200, 13, 3)) {
    Encoding opposite = encoding;
    for (float& x : opposite) x = -x;
    const cv::Mat1d matrix =
        cosine_distance_matrix(Encodings{encoding}, Encodings{encoding, opposite});
    EXPECT_GE(matrix(0, 0), 0);
    EXPECT_LT(matrix(0, 0), 1e-15);
    EXPECT_LE(matrix(0, 1), 2);
    EXPECT_GT(matrix(0, 1), 2 - 1e-15);
  }
}

TEST(CosineDistances, DoNotDependOnTheLengthOfEncodings) {
  EXPECT_THAT(
      cosine_distances(Encoding{1e-30f, 1e-30f}, Encodings{{1e30f, 1e30f}, {1e30f, -1e30f}}),
      ElementsAre(FloatNear(0, 1e-15f), FloatNear(1, 1e-15f)));
}

TEST(CosineDistances, NameAnEncodingOfZeros) {
  const Encodings others = {{1, 2}, {0, 0}};
  EXPECT_THAT(message_of([&] {
                cosine_distances(Encoding{1, 1}, others);
              }),
              HasSubstr("others[1] is all zeros"));
  EXPECT_THAT(message_of([&] {
                cosine_distances(Encoding{0, 0}, Encodings{});
              }),
              HasSubstr("encoding is all zeros"));
  EXPECT_THAT(message_of([&] {
                cosine_distance_matrix(others, Encodings{{1, 1}});
              }),
              HasSubstr("rows[1] is all zeros"));
  EXPECT_THAT(message_of([&] { cosine_distance_matrix(Encodings{}, others); }),
              HasSubstr("columns[1] is all zeros"));
}

TEST(EuclideanDistances, AreTheLengthOfTheDifference) {
  EXPECT_THAT(euclidean_distances(Encoding{1, 2}, Encodings{{1, 2}, {4, 6}, {1, -10}}),
              ElementsAre(0, 5, 12));
}

TEST(EuclideanDistances, AgreeWithTheFormulaForEveryLength) {
  for (std::size_t length = 1; length <= 40; ++length) {
    const Encodings rows = random_encodings(3, length, 4), columns = random_encodings(4, length, 5);
    const cv::Mat1d matrix = euclidean_distance_matrix(rows, columns);
    ASSERT_EQ(matrix.size(), cv::Size(4, 3));
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t j = 0; j < columns.size(); ++j) {
        const double expected = naive_euclidean(rows[i], columns[j]);
        EXPECT_NEAR(matrix(int(i), int(j)), expected, 1e-14 * expected);
      }
  }
}

TEST(EuclideanDistances, ArePreciseForNearEncodingsFarFromZero) {
  EXPECT_THAT(euclidean_distances(Encoding{16777215, 0}, Encodings{{16777214, 0}}), ElementsAre(1));
}

TEST(EuclideanDistances, AcceptAnEncodingOfZeros) {
  EXPECT_THAT(euclidean_distances(Encoding{0, 0}, Encodings{{0, 0}, {3, 4}}), ElementsAre(0, 5));
}

TEST(Distances, AreTheSameOneAgainstManyAndManyAgainstMany) {
  const Encodings rows = random_encodings(5, 130, 6), columns = random_encodings(7, 130, 7);
  const cv::Mat1d cosine = cosine_distance_matrix(rows, columns);
  const cv::Mat1d euclidean = euclidean_distance_matrix(rows, columns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<float> cosine_row = cosine_distances(rows[i], columns);
    const std::vector<float> euclidean_row = euclidean_distances(rows[i], columns);
    for (std::size_t j = 0; j < columns.size(); ++j) {
      EXPECT_EQ(cosine_row[j], static_cast<float>(cosine(int(i), int(j))));
      EXPECT_EQ(euclidean_row[j], static_cast<float>(euclidean(int(i), int(j))));
    }
  }
}

TEST(Distances, AreEmptyWithoutOthers) {
  EXPECT_THAT(cosine_distances(Encoding{1}, Encodings{}), IsEmpty());
  EXPECT_THAT(euclidean_distances(Encoding{1}, Encodings{}), IsEmpty());
  EXPECT_EQ(cosine_distance_matrix(Encodings{{1, 2}}, Encodings{}).size(), cv::Size(0, 1));
  EXPECT_TRUE(euclidean_distance_matrix(Encodings{}, Encodings{}).empty());
}

TEST(Distances, NameTheEncodingOfAnotherLength) {
  const Encodings others = {{1, 2, 3}, {1, 2}};
  const std::string expected = "others[1] has 2 elements, the first encoding has 3";
  EXPECT_THAT(message_of([&] {
                cosine_distances(Encoding{1, 1, 1}, others);
              }),
              HasSubstr(expected));
  EXPECT_THAT(message_of([&] {
                euclidean_distances(Encoding{1, 1, 1}, others);
              }),
              HasSubstr(expected));
  EXPECT_THAT(message_of([&] {
                cosine_distance_matrix(Encodings{{1, 1, 1}}, others);
              }),
              HasSubstr("columns[1] has 2 elements"));
  EXPECT_THAT(message_of([&] {
                euclidean_distance_matrix(others, Encodings{{1, 1, 1}});
              }),
              HasSubstr("rows[1] has 2 elements"));
}

TEST(Distances, NameTheElementThatIsNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(message_of([&] {
                cosine_distances(Encoding{1, nan}, Encodings{{1, 2}});
              }),
              HasSubstr("encoding has NaN at element 1"));
  EXPECT_THAT(message_of([&] {
                euclidean_distances(Encoding{1, 2}, Encodings{{infinity, 2}});
              }),
              HasSubstr("others[0] has infinity at element 0"));
}

}  // namespace
}  // namespace vcap
