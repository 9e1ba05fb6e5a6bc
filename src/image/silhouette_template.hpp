// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

namespace vcap {

/// The probability that a person covers each part of a box of 0.7 × 1.1 of their height, whose top
/// edge lies 0.05 heights above the head. Each row has the left half; the right half is its mirror
/// image.
///
/// Measured: the mean of the foreground of 55 people of vtest.avi (cmake/footage.sh downloads it)
/// who walk by themselves, made symmetric, less 0.02, cut at 0.96.
inline constexpr std::array<std::array<double, 7>, 22> kSilhouetteTemplate{{
    {0.008, 0, 0, 0, 0, 0, 0.008},
    {0.013, 0, 0, 0, 0.011, 0.151, 0.364},
    {0.007, 0, 0, 0, 0.06, 0.369, 0.745},
    {0.002, 0, 0, 0, 0.086, 0.451, 0.82},
    {0.002, 0, 0, 0.012, 0.229, 0.661, 0.915},
    {0, 0, 0, 0.077, 0.462, 0.853, 0.96},
    {0.001, 0, 0.009, 0.156, 0.589, 0.914, 0.96},
    {0, 0, 0.024, 0.199, 0.628, 0.928, 0.96},
    {0, 0, 0.015, 0.214, 0.644, 0.932, 0.96},
    {0, 0, 0.013, 0.221, 0.646, 0.925, 0.96},
    {0, 0, 0.02, 0.224, 0.633, 0.91, 0.96},
    {0, 0, 0.024, 0.197, 0.567, 0.87, 0.96},
    {0, 0, 0.013, 0.142, 0.459, 0.793, 0.951},
    {0, 0, 0.006, 0.09, 0.35, 0.721, 0.918},
    {0, 0, 0.005, 0.096, 0.336, 0.679, 0.882},
    {0, 0, 0.022, 0.145, 0.385, 0.668, 0.85},
    {0, 0.002, 0.063, 0.211, 0.444, 0.668, 0.818},
    {0, 0.024, 0.116, 0.277, 0.481, 0.665, 0.815},
    {0.009, 0.061, 0.172, 0.345, 0.544, 0.723, 0.854},
    {0.019, 0.079, 0.191, 0.362, 0.582, 0.762, 0.868},
    {0.021, 0.053, 0.127, 0.243, 0.424, 0.57, 0.668},
    {0.013, 0.009, 0.017, 0.047, 0.095, 0.139, 0.171},
}};
inline constexpr double kTemplateWidth = 0.7;   ///< of the height of the person
inline constexpr double kTemplateHeight = 1.1;  ///< of the height of the person
inline constexpr double kTemplateFeet = 1.05;   ///< the bottom edge of the person, from its top
inline constexpr double kMostCovered = 0.96;    ///< no pixel is certain to be covered

}  // namespace vcap
