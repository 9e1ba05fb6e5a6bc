// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"

// Distances between encodings, summed up in double precision. One encoding against many gives what
// Backend::distances() returns; many against many gives costs for linear_assignment(), and the two
// agree to the last bit of a float. All are thread-safe.

namespace vcap {

/// 1 − the cosine of the angle between `encoding` and each of `others`: 0 where they point the same
/// way, 1 at a right angle, 2 where they are opposite; their lengths do not matter.
/// Throws InvalidArgument naming the encoding that has another number of elements, is all zeros
/// (it points nowhere), or has an element that is not finite.
/// Source: G. Salton, M. J. McGill, "Introduction to Modern Information Retrieval", 1983.
VCAP_EXPORT std::vector<float> cosine_distances(std::span<const float> encoding,
                                                std::span<const std::vector<float>> others);
/// The same of each row with each column: rows × columns doubles.
VCAP_EXPORT cv::Mat1d cosine_distance_matrix(std::span<const std::vector<float>> rows,
                                             std::span<const std::vector<float>> columns);

/// The length of the difference between `encoding` and each of `others` (L2 norm). Differences are
/// taken element by element, so that near encodings of great length lose no digits.
/// Throws InvalidArgument naming the encoding that has another number of elements, or an element
/// that is not finite. Zeros are like any other encoding here.
VCAP_EXPORT std::vector<float> euclidean_distances(std::span<const float> encoding,
                                                   std::span<const std::vector<float>> others);
/// The same of each row with each column: rows × columns doubles.
VCAP_EXPORT cv::Mat1d euclidean_distance_matrix(std::span<const std::vector<float>> rows,
                                                std::span<const std::vector<float>> columns);

}  // namespace vcap
