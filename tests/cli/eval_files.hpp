// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace vcap::test {

using EvalJson = nlohmann::json;

/// A JSON object for a record.
inline EvalJson found_object(const std::string& name, double x, double y, double w, double h,
                             double confidence, const std::string& track = {}) {
  EvalJson object = {{"name", name},
                     {"bbox", {{"x", x}, {"y", y}, {"w", w}, {"h", h}}},
                     {"confidence", confidence}};
  if (!track.empty()) object["track_id"] = track;
  return object;
}

/// A record's line.
inline std::string record_of(std::int64_t frame, const std::vector<EvalJson>& objects,
                             const std::string& stream = "s") {
  return EvalJson{{"schema", "vcap.frame/1"},
                  {"stream_id", stream},
                  {"frame_index", frame},
                  {"pts_ns", frame * 40'000'000},
                  {"objects", objects}}
             .dump() +
         "\n";
}

/// An annotation in COCO's format.
inline EvalJson annotation(int id, int image, int category, std::vector<double> bbox,
                           EvalJson more = {}) {
  EvalJson entry = {{"id", id}, {"image_id", image}, {"category_id", category}, {"bbox", bbox}};
  if (more.is_object()) entry.update(more);
  return entry;
}

/// Two images, frames 0 and 1, with one person each, and one category.
inline EvalJson two_people() {
  return {{"images",
           {{{"id", 10}, {"file_name", "shots/frame_000.png"}},
            {{"id", 11}, {"file_name", "shots/frame_001.png"}}}},
          {"categories", {{{"id", 1}, {"name", "person"}}}},
          {"annotations",
           {annotation(1, 10, 1, {0, 0, 10, 10}), annotation(2, 11, 1, {50, 0, 10, 10})}}};
}

/// Records that find the first of the two people, and one wrong object.
inline std::string one_person_found() {
  return record_of(0, {found_object("person", 0, 0, 10, 10, 0.9)}) +
         record_of(1, {found_object("person", 90, 0, 10, 10, 0.4)});
}

}  // namespace vcap::test
