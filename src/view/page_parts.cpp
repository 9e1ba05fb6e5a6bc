// SPDX-License-Identifier: Apache-2.0
#include "view/page_parts.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "view/svg.hpp"

namespace vcap {
namespace {

/// Nothing may be fetched or run, whatever the records contain.
constexpr const char* kReportHead =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'; img-src data:\"/>\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n";

constexpr const char* kReportStyle =
    "<style>\n"
    "body { font: 14px/1.4 sans-serif; color: #222; max-width: 900px; margin: 2em auto; "
    "padding: 0 1em; }\n"
    "h2 { border-top: 2px solid #ccc; padding-top: .7em; overflow-wrap: anywhere; }\n"
    "table { border-collapse: collapse; margin: .6em 0; }\n"
    "th, td { padding: .2em .7em .2em 0; text-align: left; vertical-align: top; "
    "border-bottom: 1px solid #e5e5e5; overflow-wrap: anywhere; }\n"
    "td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }\n"
    "td.none { color: #999; }\n"
    "th { overflow-wrap: break-word; }\n"
    "td.name { min-width: 9em; }\n"
    "td.picture { width: 68px; text-align: center; }\n"
    "svg.plot { width: 100%; font-size: 11px; }\n"
    "svg.map { width: 100%; max-width: 640px; }\n"
    "svg.boxes { width: 480px; max-width: 55vw; }\n"
    "svg.bar { width: 360px; max-width: 40vw; height: 12px; }\n"
    "pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 12px; }\n"
    "p.note { color: #666; }\n"
    "p.verdict { font-size: 17px; padding: .5em .8em; border-left: 6px solid #009e73; "
    "background: #f3f8f6; }\n"
    "p.differs { border-color: #d55e00; background: #fbf4ee; }\n"
    ".a { color: #d55e00; }\n"
    ".b { color: #0072b2; }\n"
    "@media print { section { break-before: page; } tr, svg { break-inside: avoid; } }\n"
    "</style>\n";

}  // namespace

StreamClip clip_of_stream(const std::string& stream, const std::vector<std::string>& known,
                          const std::string& clip, const std::string& link) {
  if (std::ranges::find(known, stream) == known.end())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "clip " + clip + " is given for stream " + quote(stream) +
                              ", but the records are of " + quote_list(known) +
                              suggestion(stream, known));
  return {.file = clip, .link = link.empty() ? clip : link};
}

std::string page_begin(const std::string& title) {
  const std::string text = html_text(title);
  return std::string(kReportHead) + "<title>" + text + "</title>\n" + kReportStyle +
         "</head><body>\n<h1>" + text + "</h1>\n";
}

std::string cell(const std::string& text) { return html_cell(html_text(text)); }
std::string html_cell(const std::string& html) { return "<td>" + html + "</td>"; }
std::string number_cell(const std::string& text) {
  return "<td class=\"number\">" + html_text(text) + "</td>";
}
std::string number_cell(std::int64_t number) { return number_cell(std::to_string(number)); }

std::string table_of(const std::vector<std::string>& heads, const std::string& rows) {
  std::string text = "<table><thead><tr>";
  for (const std::string& head : heads) text += "<th>" + html_text(head) + "</th>";
  return text + "</tr></thead><tbody>\n" + rows + "</tbody></table>\n";
}

std::string more(std::int64_t count, const char* what) {
  if (count == 0) return {};
  return "<p class=\"note\">" + std::to_string(count) + " more " + what +
         " are counted, but not listed.</p>\n";
}

double seconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::string time_link(std::chrono::nanoseconds pts, const std::string& clip) {
  std::string text = clock_text(seconds_of(pts), 1);
  if (clip.empty()) return text;
  return "<a href=\"" + html_text(link_to(clip)) + "#t=" + tenths(seconds_of(pts)) + "\">" + text +
         "</a>";
}

std::string link_to(const std::string& clip) {
  if (clip.starts_with("http://") || clip.starts_with("https://")) return clip;
  std::string link = clip.starts_with('/') || clip.starts_with('.') ? "" : "./";
  for (const char c : clip) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                          (byte >= '0' && byte <= '9') ||
                          std::string_view("-._~/").find(c) != std::string_view::npos;
    char code[4];
    std::snprintf(code, sizeof code, "%%%02X", byte);
    link += is_plain ? std::string(1, c) : std::string(code);
  }
  return link;
}

std::string shortened(const std::string& text) {
  constexpr std::string_view cut = "…";
  if (text.size() <= kLongestKept) return text;
  return text.substr(0, kLongestKept - cut.size()).append(cut);
}

}  // namespace vcap
