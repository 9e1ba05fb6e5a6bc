// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vcap {

/// Colours that red-green colour-blind people can tell apart (M. Okabe, K. Ito, 2008).
inline constexpr std::array<const char*, 7> kSeriesColours{
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"};

/// One line of a plot, in data coordinates, from left to right. Thread safety: value.
struct PlotSeries {
  std::string name{};
  std::vector<std::pair<double, double>> points{};
};

/// A plot of at most seven series over seconds, as an SVG element for HTML. `unit`: of the upright
/// axis. Thread-safe.
std::string time_plot(const std::vector<PlotSeries>& series, double begin, double end,
                      const std::string& unit);

/// The text as a page shows it: without markup, control characters as \x1b. Thread-safe.
std::string html_text(std::string_view text);
/// M:SS, or H:MM:SS from an hour on, with `digits` digits after the second. Thread-safe.
std::string clock_text(double seconds, int digits = 0);
/// The number with one digit after the point. Thread-safe.
std::string tenths(double number);

}  // namespace vcap
