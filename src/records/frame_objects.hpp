// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "records/input_file.hpp"
#include "vcap/base/export.hpp"
#include "vcap/model/frame.hpp"
#include "vcap/model/node_description.hpp"
#include "vcap/records/objects_file.hpp"

namespace vcap {

/// What an ObjectsFile holds. Thread safety: thread-safe.
class VCAP_EXPORT GivenObjects {
 public:
  /// Throws for objects that are not allowed.
  using Check = std::function<void(const std::vector<DetectionNode>&)>;

  /// Reads the whole file once, and checks the objects that are taken. Throws as
  /// RecordReader::read(); SourceError if it is no regular file or folder, since it is read again;
  /// InvalidArgument if its frames are in groups, it has no objects that are taken, or `check`
  /// throws.
  GivenObjects(ObjectsFile file, const Check& check);

  const InputFile& file() const noexcept { return input_; }
  /// The ids of its streams. A file of another program has one, which is named after it.
  const std::set<std::string>& streams() const noexcept { return streams_; }
  /// What at least one of the objects has, children included.
  const NodeDescription& nodes() const noexcept { return nodes_; }
  /// The records, with the objects that are taken; null for a format that is read again, in
  /// constant memory (JSON lines, CSV) or nearly so (MOT).
  const std::vector<FrameRecord>* kept() const noexcept { return is_kept() ? &kept_ : nullptr; }
  std::unique_ptr<RecordReader> open() const { return open_records(input_.path(), read_); }
  /// Those of a record's objects that are taken, with the names that they get.
  std::vector<DetectionNode> taken(std::vector<DetectionNode> objects) const;
  RecordFormat format() const { return *read_.format; }
  /// Whether a record's index is only its place among the labels' names.
  bool counts_labels(const FrameRecord& record) const;

 private:
  bool is_kept() const noexcept;
  void check_kind() const;

  const InputFile input_;
  RecordReadOptions read_;
  const std::map<std::string, std::string> names_;
  std::set<std::string> streams_;
  NodeDescription nodes_;
  std::vector<FrameRecord> kept_;
};

/// Gives out the objects of one stream of a file beside the frames of a source. Records of COCO,
/// YOLO and VOC that name images belong to the frames with these images, if the source names them,
/// too; everything else belongs to the frame with its index. Thread safety: thread-compatible.
class VCAP_EXPORT FrameObjects {
 public:
  /// `stream`: one of the file. `frames`: how many the source has, if it knows.
  FrameObjects(std::shared_ptr<const GivenObjects> given, std::string stream,
               std::optional<std::int64_t> frames);

  /// Those of the frame; indexes must rise. Throws as RecordReader::read(); InvalidArgument if the
  /// record is of a frame of another size, image or time, if records are not in the order of their
  /// frames, or if it is not clear which frame they belong to.
  std::vector<DetectionNode> of(const Frame& frame);
  /// After the last frame: logs, once, how many records with objects had no frame. Ends early if
  /// `stop` says so.
  void finish(const std::function<bool()>& stop);
  /// Logs that frames were given and none of them had a record, if so.
  void note_if_unused() const;

 private:
  /// A record that belongs to an image.
  struct OfImage {
    const FrameRecord* record = nullptr;
    std::string image{};  ///< of the source, that it was given to; empty: none yet
  };

  void choose_way(const Frame& frame);
  std::optional<FrameRecord> next();
  const FrameRecord* record_of_image(const Frame& frame);
  std::optional<FrameRecord> record_at(std::int64_t index);
  void check(const FrameRecord& record, const Frame& frame) const;
  void note_unused(const FrameRecord& record);

  const std::shared_ptr<const GivenObjects> given_;
  const std::string stream_;
  const std::optional<std::int64_t> frames_;
  std::int64_t seen_ = 0;                       ///< frames with a picture
  std::int64_t found_ = 0;                      ///< of these, those with a record
  std::unique_ptr<RecordReader> reader_;        ///< if records are not kept
  std::vector<const FrameRecord*> waiting_;     ///< if they are; by falling index
  std::multimap<std::string, OfImage> images_;  ///< by the name without folders
  bool by_image_ = false;
  std::optional<FrameRecord> ahead_;  ///< of a later frame
  std::int64_t last_ = -1;            ///< the index that was read last
  std::size_t unused_ = 0;            ///< records with objects
  std::string first_unused_;
};

}  // namespace vcap
