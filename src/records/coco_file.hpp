// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <opencv2/core/types.hpp>

#include "records/input_file.hpp"
#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"
#include "vcap/model/keypoint.hpp"

namespace vcap {

/// Which field of a COCO image gives the number of its frame.
enum class CocoFramesBy { automatic, field, file_name, id, order };

/// A file of COCO's instances. Thread safety: value.
struct VCAP_EXPORT CocoFile {
  struct Image {
    std::int64_t id = 0;
    std::optional<std::string> file_name{};
    nlohmann::json content{};  ///< the whole entry
  };
  struct Category {
    std::string name{};
    std::vector<std::string> keypoints{};
  };
  struct Annotation {
    std::optional<std::int64_t> id{};
    std::size_t image = 0;  ///< in `images`
    std::int64_t category = 0;
    BoundingBox box{};
    double area = 0;
    bool is_crowd = false;
    bool is_ignored = false;
    std::optional<std::int64_t> track{};
    std::optional<double> score{};
    std::optional<std::int64_t> parent{};  ///< id of another annotation
    Coords outline{};                      ///< the first polygon; empty if there is none
    bool has_more_outline = false;         ///< further polygons, or a mask
    std::map<std::string, std::string> attributes{};
    std::vector<Keypoint> keypoints{};
  };

  InputFile input;
  std::vector<Image> images{};                   ///< in the order of the file
  std::map<std::int64_t, std::size_t> places{};  ///< of images, by id
  std::map<std::int64_t, Category> categories{};
  std::vector<Annotation> annotations{};

  // What an entry of annotations or results names. Each throws InvalidArgument that names the
  // place.
  std::size_t image_of(const InputFile& file, const nlohmann::json& entry,
                       const std::string& place) const;
  std::int64_t category_of(const InputFile& file, const nlohmann::json& entry,
                           const std::string& place) const;
};

/// Reads "images", "annotations" and "categories". Throws InvalidArgument that names file and
/// entry. Thread-safe.
VCAP_EXPORT CocoFile read_coco_file(const std::string& path, const nlohmann::json& content);

/// "bbox": [x, y, width, height]. Throws InvalidArgument. Thread-safe.
VCAP_EXPORT BoundingBox read_coco_box(const InputFile& input, const nlohmann::json& entry,
                                      const std::string& place);

/// The number of each image's frame by the rule, minus `first`. Throws InvalidArgument if two have
/// the same number, or one is below 0. Thread-safe.
VCAP_EXPORT std::vector<std::int64_t> coco_frame_numbers(const CocoFile& coco, CocoFramesBy rule,
                                                         std::int64_t first);

/// The rule by which a file is read as records: automatic, or by order if the numbers in the names
/// of files in several folders are the same.
VCAP_EXPORT CocoFramesBy coco_rule_of_records(const CocoFile& coco);

}  // namespace vcap
