// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "records/record_line.hpp"
#include "vcap/model/bounding_box.hpp"
#include "vcap/model/uuid.hpp"

namespace vcap::test {

/// The line of a frame with so many tracked persons, without its newline: about 450 bytes each.
inline std::string tracked_line(FrameRecord record, int persons) {
  for (int i = 0; i < persons; ++i) {
    const BoundingBox box{100.5 + 80 * i, 200.25, 164.75 + 80 * i, 392.5};
    record.objects.push_back({.name = "person",
                              .coords = rect_to_coords(box),
                              .detection_bbox = box,
                              .track_id = Uuid::random(),
                              .extra_data = {{"detection_confidence", 0.8125}}});
  }
  std::string line = record_line(record);
  line.pop_back();
  return line;
}

}  // namespace vcap::test
