// SPDX-License-Identifier: Apache-2.0
#include "view/svg.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.hpp"

namespace vcap {
namespace {

constexpr double kWidth = 860, kHeight = 240, kLeft = 46, kRight = 160, kTop = 12, kBottom = 26;
constexpr double kPlotWidth = kWidth - kLeft - kRight, kPlotHeight = kHeight - kTop - kBottom;
constexpr int kTicks = 5;

/// The smallest of 1, 2, 5, 10, 20, … that is not below the number.
double round_up(double number) {
  const double power = std::pow(10, std::floor(std::log10(number)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= number) return factor * power;
  return 10 * power;
}

void label(std::string& svg, double x, double y, const std::string& text, const char* anchor) {
  svg += "<text x=\"" + tenths(x) + "\" y=\"" + tenths(y) + "\" text-anchor=\"" + anchor + "\">" +
         html_text(text) + "</text>";
}

void line(std::string& svg, double x1, double y1, double x2, double y2, const char* colour) {
  svg += "<line x1=\"" + tenths(x1) + "\" y1=\"" + tenths(y1) + "\" x2=\"" + tenths(x2) +
         "\" y2=\"" + tenths(y2) + "\" stroke=\"" + colour + "\"/>";
}

void grid(std::string& svg, double begin, double end, double top, const std::string& unit) {
  for (int i = 0; i <= kTicks; ++i) {
    const double share = static_cast<double>(i) / kTicks;
    const double y = kTop + kPlotHeight * (1 - share);
    line(svg, kLeft, y, kLeft + kPlotWidth, y, "#dddddd");
    label(svg, kLeft - 4, y + 4, tenths(top * share), "end");
    const double x = kLeft + kPlotWidth * share;
    line(svg, x, kTop, x, kTop + kPlotHeight, "#dddddd");
    label(svg, x, kTop + kPlotHeight + 16, clock_text(begin + (end - begin) * share), "middle");
  }
  label(svg, kLeft + kPlotWidth + 10, kTop + 8, unit, "start");
}

}  // namespace

std::string html_text(std::string_view text) { return xml_text(printable(text)); }

std::string tenths(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", number);
  return text;
}

std::string clock_text(double seconds, int digits) {
  const double step = std::pow(10, -digits);
  const double all = std::round(std::max(seconds, 0.0) / step) * step;
  const auto minutes = static_cast<long long>((all + step / 2) / 60);
  const double rest = std::max(0.0, all - static_cast<double>(minutes) * 60);
  char text[64];
  const int width = digits > 0 ? 3 + digits : 2;
  if (minutes < 60)
    std::snprintf(text, sizeof text, "%lld:%0*.*f", minutes, width, digits, rest);
  else
    std::snprintf(text, sizeof text, "%lld:%02lld:%0*.*f", minutes / 60, minutes % 60, width,
                  digits, rest);
  return text;
}

std::string time_plot(const std::vector<PlotSeries>& series, double begin, double end,
                      const std::string& unit) {
  double top = 0;
  for (const PlotSeries& one : series)
    for (const auto& [time, value] : one.points) top = std::max(top, value);
  top = top > 0 ? round_up(top) : 1;
  if (end <= begin) end = begin + 1;
  std::string svg = "<svg viewBox=\"0 0 " + tenths(kWidth) + " " + tenths(kHeight) +
                    "\" class=\"plot\" role=\"img\">";
  grid(svg, begin, end, top, unit);
  for (std::size_t i = 0; i < std::min(series.size(), kSeriesColours.size()); ++i) {
    svg += "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"" +
           std::string(kSeriesColours[i]) + "\" points=\"";
    for (const auto& [time, value] : series[i].points)
      svg += tenths(kLeft + kPlotWidth * (time - begin) / (end - begin)) + "," +
             tenths(kTop + kPlotHeight * (1 - value / top)) + " ";
    svg += "\"/>";
    const double y = kTop + 28 + 16 * static_cast<double>(i), x = kLeft + kPlotWidth + 10;
    line(svg, x, y - 4, x + 16, y - 4, kSeriesColours[i]);
    label(svg, x + 22, y, series[i].name, "start");
  }
  return svg + "</svg>\n";
}

}  // namespace vcap
