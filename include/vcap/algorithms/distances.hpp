// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"

// Distances between encodings, summed up in double precision. The distances of one encoding to many
// are what Backend::distances() returns. The matrices are costs for linear_assignment(). Both agree
// to the last bit of a float. All functions are thread-safe.

namespace vcap {

/// 1 − the cosine of the angle between `encoding` and each of `others`: 0 if they have the same
/// direction, 1 at a right angle, 2 if they have opposite directions. Their lengths do not matter.
/// Throws InvalidArgument that names the encoding if it has another number of elements, is all
/// zeros (so it has no direction), or has an element that is not finite.
/// Source: G. Salton, M. J. McGill, "Introduction to Modern Information Retrieval", 1983.
VCAP_EXPORT std::vector<float> cosine_distances(std::span<const float> encoding,
                                                std::span<const std::vector<float>> others);
/// The same of each row with each column: rows × columns doubles.
VCAP_EXPORT cv::Mat1d cosine_distance_matrix(std::span<const std::vector<float>> rows,
                                             std::span<const std::vector<float>> columns);

/// The length of the difference between `encoding` and each of `others` (L2 norm). Differences are
/// taken element by element, so that long encodings that are near each other lose no digits.
/// Throws InvalidArgument that names the encoding if it has another number of elements, or an
/// element that is not finite. An encoding of zeros is allowed here.
VCAP_EXPORT std::vector<float> euclidean_distances(std::span<const float> encoding,
                                                   std::span<const std::vector<float>> others);
/// The same of each row with each column: rows × columns doubles.
VCAP_EXPORT cv::Mat1d euclidean_distance_matrix(std::span<const std::vector<float>> rows,
                                                std::span<const std::vector<float>> columns);

}  // namespace vcap
