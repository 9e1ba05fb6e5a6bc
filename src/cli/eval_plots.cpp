// SPDX-License-Identifier: Apache-2.0
// The plots of an evaluation, as SVG text.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/text.hpp"
#include "cli/eval_report.hpp"
#include "files/output_file.hpp"
#include "vcap/base/error.hpp"

namespace vcap::cli {
namespace {

/// Colours that red-green colour-blind people can tell apart (M. Okabe, K. Ito, 2008).
constexpr std::array<const char*, 7> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                              "#56b4e9", "#e69f00", "#000000"};
/// One colour for each line; further lines are left out.
constexpr std::size_t kMostLines = kColours.size();

std::string tenths(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string shown_text(std::string_view text) { return xml_text(printable(text)); }

class Svg {
 public:
  Svg(double width, double height, const std::string& title)
      : text_("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + tenths(width) +
              "\" height=\"" + tenths(height) +
              "\" font-family=\"sans-serif\" font-size=\"12\">\n<title>" + shown_text(title) +
              "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n") {
    label(width / 2, 18, title, "middle");
  }

  void label(double x, double y, const std::string& text, const char* anchor,
             const std::string& more = {}) {
    text_ += "<text x=\"" + tenths(x) + "\" y=\"" + tenths(y) + "\" text-anchor=\"" + anchor +
             "\"" + more + ">" + shown_text(text) + "</text>\n";
  }
  void line(double x1, double y1, double x2, double y2, const char* colour) {
    text_ += "<line x1=\"" + tenths(x1) + "\" y1=\"" + tenths(y1) + "\" x2=\"" + tenths(x2) +
             "\" y2=\"" + tenths(y2) + "\" stroke=\"" + colour + "\"/>\n";
  }
  void polyline(const std::string& points, const char* colour) {
    text_ += "<polyline points=\"" + points + "\" fill=\"none\" stroke-width=\"2\" stroke=\"" +
             colour + "\"/>\n";
  }
  void cell(double x, double y, double side, double share) {
    text_ += "<rect x=\"" + tenths(x) + "\" y=\"" + tenths(y) + "\" width=\"" + tenths(side) +
             "\" height=\"" + tenths(side) +
             "\" stroke=\"#cccccc\" fill=\"#0072b2\" fill-opacity=\"" +
             tenths(std::ceil(share * 10) / 10) + "\"/>\n";
  }
  std::string finish() && { return std::move(text_) + "</svg>\n"; }

 private:
  std::string text_;
};

struct PlotLine {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< x and y, 0 to 1
};

constexpr double kPlotSide = 400, kPlotLeft = 60, kPlotTop = 34;

/// Leaves out points that are less than half a pixel from the one before.
std::string points_text(const std::vector<std::pair<double, double>>& points) {
  std::string text;
  double last_x = -10, last_y = -10;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double x = kPlotLeft + kPlotSide * points[i].first;
    const double y = kPlotTop + kPlotSide * (1 - points[i].second);
    const bool is_near = std::abs(x - last_x) < 0.5 && std::abs(y - last_y) < 0.5;
    if (is_near && i + 1 < points.size()) continue;
    if (!text.empty()) text += ' ';
    text.append(tenths(x)).append(",").append(tenths(y));
    last_x = x;
    last_y = y;
  }
  return text;
}

std::string line_plot(const std::string& title, const std::string& x_label,
                      const std::string& y_label, const std::vector<PlotLine>& lines) {
  constexpr double bottom = kPlotTop + kPlotSide, right = kPlotLeft + kPlotSide;
  Svg svg(right + 200, bottom + 50, title);
  for (int i = 0; i <= 10; i += 2) {
    const double x = kPlotLeft + kPlotSide * i / 10, y = bottom - kPlotSide * i / 10;
    svg.line(x, kPlotTop, x, bottom, "#dddddd");
    svg.line(kPlotLeft, y, right, y, "#dddddd");
    svg.label(x, bottom + 16, tenths(i / 10.0), "middle");
    svg.label(kPlotLeft - 6, y + 4, tenths(i / 10.0), "end");
  }
  svg.label((kPlotLeft + right) / 2, bottom + 38, x_label, "middle");
  svg.label(16, (kPlotTop + bottom) / 2, y_label, "middle",
            " transform=\"rotate(-90 16 " + tenths((kPlotTop + bottom) / 2) + ")\"");
  for (std::size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) {
    svg.polyline(points_text(lines[i].points), kColours[i]);
    const double y = kPlotTop + 14 + 18 * static_cast<double>(i);
    svg.line(right + 12, y - 4, right + 32, y - 4, kColours[i]);
    svg.label(right + 38, y, lines[i].name, "start");
  }
  return std::move(svg).finish();
}

/// Plots the classes with the most objects.
std::string precision_recall_plot(const EvalReport& report) {
  std::vector<const EvalReport::Class*> classes;
  for (const EvalReport::Class& one : report.classes)
    if (!one.curve.empty()) classes.push_back(&one);
  std::ranges::stable_sort(classes, std::ranges::greater{},
                           [](const EvalReport::Class* one) { return one->truth_boxes; });
  std::vector<PlotLine> lines;
  for (const EvalReport::Class* one : classes) {
    PlotLine& line = lines.emplace_back();
    line.name = one->name;
    line.points.emplace_back(0, one->curve.front().precision);
    for (const PrecisionRecallPoint& point : one->curve)
      line.points.emplace_back(point.recall, point.precision);
  }
  return line_plot("Precision and recall at an IoU of " + number_text(report.iou), "recall",
                   "precision", lines);
}

std::string hota_plot(const TrackingCounts& counts) {
  const TrackingScores scores = tracking_scores(counts);
  std::vector<PlotLine> lines;
  const auto add = [&](const char* name, const std::vector<double>& values) {
    PlotLine& line = lines.emplace_back();
    line.name = name;
    for (std::size_t i = 0; i < values.size(); ++i)
      line.points.emplace_back(0.05 * static_cast<double>(i + 1), values[i]);
  };
  add("HOTA", scores.hota_at);
  add("DetA", scores.det_a_at);
  add("AssA", scores.ass_a_at);
  return line_plot("HOTA", "IoU", "figure", lines);
}

/// The darker a cell, the greater its share of the true class.
std::string confusion_plot(const ClassificationScores& scores) {
  const std::size_t count = scores.classes.size();
  const double side = std::clamp(800.0 / static_cast<double>(count), 4.0, 44.0);
  const double left = 140, top = 140, extent = side * static_cast<double>(count);
  Svg svg(left + extent + 40, top + extent + 30, "Confusion matrix");
  svg.label(left + extent / 2, 36, "found", "middle");
  svg.label(16, top + extent / 2, "true", "middle",
            " transform=\"rotate(-90 16 " + tenths(top + extent / 2) + ")\"");
  for (std::size_t i = 0; i < count; ++i) {
    const double place = side * static_cast<double>(i);
    if (side >= 10) {
      const double x = left + place + side / 2 + 4;
      svg.label(left - 6, top + place + side / 2 + 4, scores.classes[i].label, "end");
      svg.label(x, top - 6, scores.classes[i].label, "start",
                " transform=\"rotate(-60 " + tenths(x) + " " + tenths(top - 6) + ")\"");
    }
    for (std::size_t j = 0; j < count; ++j) {
      const auto samples = static_cast<double>(scores.confusion[i][j]);
      const double x = left + side * static_cast<double>(j);
      svg.cell(x, top + place, side,
               samples / std::max(1.0, static_cast<double>(scores.classes[i].samples)));
      if (side >= 20 && scores.confusion[i][j] > 0)
        svg.label(x + side / 2, top + place + side / 2 + 4, std::to_string(scores.confusion[i][j]),
                  "middle");
    }
  }
  return std::move(svg).finish();
}

}  // namespace

std::vector<std::string> write_plots(const EvalReport& report, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    throw OutputError(ErrorCode::output_open, "folder " + folder + " cannot be created: " +
                                                  failed.message() + "; choose another --plots");
  std::vector<std::string> names;
  const auto write = [&](const char* name, const std::string& text) {
    OutputFile file(std::filesystem::path(folder) / name);
    file.write(text);
    file.commit();
    names.emplace_back(name);
  };
  if (std::ranges::any_of(report.classes, [](const auto& one) { return !one.curve.empty(); }))
    write("precision_recall.svg", precision_recall_plot(report));
  if (const auto all = report.all_tracking()) write("hota.svg", hota_plot(*all));
  if (report.classification) write("confusion_matrix.svg", confusion_plot(*report.classification));
  return names;
}

}  // namespace vcap::cli
