// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/records/sink.hpp"

namespace vcap {

// Sinks that write records in the formats of other tools; docs/exports.md has each format, and what
// of a record it holds. What a format cannot hold is logged once, when the sink is closed, with the
// number of frames or objects. open_records() reads all of them but crops.
//
// Memory does not grow with the number of records, only with the numbers of tracks, categories and
// streams. Text that is not UTF-8 is replaced by U+FFFD. All throw OutputError if the output cannot
// be made. All are thread-safe.
//
// Folders get their name at close(); until then they are hidden (.NAME.….part), and are removed if
// the sink is not closed. The path must be free, or an empty folder. No name within a record can
// lead out of the folder: names that are not safe as names of files are changed.

/// One JSON file of COCO's instances: images, annotations, categories. Removed if it is not closed;
/// a file of the same size is hidden in its folder meanwhile. Streams may share it.
VCAP_EXPORT std::unique_ptr<Sink> make_coco_sink(const std::string& path);

/// MOT Challenge, of one stream; its write() throws OutputError if a second one comes. A path that
/// ends in ".txt", or "-", gets the lines alone: frame, id, left, top, width, height, confidence,
/// class, visibility. Another path becomes the folder of a sequence: seqinfo.ini, gt/gt.txt and
/// gt/labels.txt, whose n-th line names class n.
VCAP_EXPORT std::unique_ptr<Sink> make_mot_sink(const std::string& path);

/// How YOLO labels are written. Thread safety: value.
struct YoloExport {
  bool polygons = false;    ///< outlines as "class x y x y …", instead of boxes
  bool confidences = true;  ///< with the confidence as the last number; trainers want none
};

/// A folder in the layout of YOLO: labels/NAME.txt for each frame, data.yaml with the classes, and
/// frames.csv with what label files do not say, such as the frames' sizes and times. Streams may
/// share it.
VCAP_EXPORT std::unique_ptr<Sink> make_yolo_sink(const std::string& path,
                                                 const YoloExport& how = {});

/// A folder with Annotations/NAME.xml of Pascal VOC for each frame. Boxes are whole pixels that
/// count from 1, both ends included, cut to the frame. Streams may share it.
VCAP_EXPORT std::unique_ptr<Sink> make_voc_sink(const std::string& path);

/// One table (RFC 4180) with a header, a row for each node, and one row for a frame without nodes.
/// Holds everything of the nodes. Cells are data: a spreadsheet may take a cell that begins with
/// "=" for a formula, so import it as text. Kept as PATH.part if it is not closed, like JSON lines.
/// "-" is standard output. Streams may share it.
VCAP_EXPORT std::unique_ptr<Sink> make_csv_sink(const std::string& path);

/// How crops are written. Thread safety: value.
struct CropExport {
  bool png = false;    ///< lossless PNG instead of JPEG
  int quality = 95;    ///< of JPEG, 1 to 100
  double padding = 0;  ///< at each side, in percent of the box's size; 0 to 1000
};

/// A folder with the pixels of each node and its children, by their boxes:
/// STREAM/FRAME-NODE-NAME.jpg, and labels.csv with file and name. Nodes without pixels in the frame
/// are counted as not held. Throws InvalidArgument if the quality or the padding is out of range.
/// Needs the frames' pixels. Streams may share it.
VCAP_EXPORT std::unique_ptr<Sink> make_crop_sink(const std::string& path,
                                                 const CropExport& how = {});

}  // namespace vcap
