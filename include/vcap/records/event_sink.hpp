// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "vcap/algorithms/event_rules.hpp"
#include "vcap/base/export.hpp"
#include "vcap/media/video_encoding.hpp"
#include "vcap/records/publisher.hpp"
#include "vcap/records/sink.hpp"

namespace vcap {

/// The clips of events (docs/events.md). Thread safety: value.
struct EventClipSettings {
  /// The folder, which must exist, for the clips. Empty: no clips.
  std::string folder{};
  std::chrono::nanoseconds pre_roll = std::chrono::seconds(5);   ///< before the begin; 0 or above
  std::chrono::nanoseconds post_roll = std::chrono::seconds(5);  ///< after the end; 0 or above
  /// What a clip has at most, pre-roll included: at least `pre_roll` + `post_roll`, above 0.
  std::chrono::nanoseconds longest = std::chrono::minutes(10);
  /// The videos of streams whose source is a stored video, by id. The times of the frames must be
  /// those of the video, as with open_source() without a loop. Clips are cut from it without
  /// encoding, from the keyframe before the pre-roll, and need no pixels. Streams that are not in
  /// it, and videos that cannot be cut, are encoded.
  std::map<std::string, std::string> files{};
  /// What the JPEGs of a stream's last pictures may take, in bytes, above 0; a pre-roll that does
  /// not fit is cut short, and a warning says so.
  std::size_t pre_roll_bytes = std::size_t{64} << 20;
  VideoEncoding encoding{};  ///< of encoded clips, which are MP4
};

/// How make_event_sink() works. Thread safety: value.
struct EventSinkSettings {
  /// Rules of single streams, by id, in place of those for all.
  std::map<std::string, EventRules> rules_of_stream{};
  /// The folder, which must exist, for a JPEG of the frame in which an event begins, named after
  /// its id. Empty: no pictures, and the sink does not need pixels.
  std::string snapshots{};
  int snapshot_quality = 90;  ///< JPEG's, 1 to 100
  /// Whether each write waits until the disk has stored it, which survives a power cut, but takes
  /// milliseconds. Otherwise, what is written survives the end of this process in any way.
  bool sync = false;
  /// Each gets every line that is appended to the journal as a message, in order, also an end with
  /// reason `interrupted`, and lines that a killed process or a full disk has kept from its spool.
  /// A publisher is for one journal. The host closes it after this sink.
  std::vector<std::shared_ptr<Publisher>> publishers{};
  EventClipSettings clips{};  ///< none by default
};

/// Reads a file of rules (docs/events.md). Throws InvalidArgument: invalid_argument if the file
/// cannot be read; what parsing its JSON and from_json of EventRules throw, with the file's name.
/// Thread-safe.
VCAP_EXPORT EventRules read_event_rules(const std::string& path);

/// Finds the events of streams (EventDetector), and appends their begins and ends to a journal, one
/// JSON object a line (docs/records.md). Streams may share it.
///
/// Each event has one begin and one end in the journal, whatever happens:
/// - The journal is appended to in place, and not renamed. If an earlier process was killed, its
///   open events are ended now, with reason `interrupted`. A last line without its newline is cut
///   off, with a warning.
/// - The changes of a frame are written at once, by one write(2), before write() returns.
/// - If writing fails, such as on a full disk, write() throws OutputError. What is not in the file
/// is
///   kept and written with the next change, or by close(); if more than 10,000 lines are kept,
///   further events are not recorded at all, and a warning says so. A part of a line is cut off
///   again.
/// - close() ends what is open, with reason `stream_end`. Without it, the next opening does.
///
/// Clips (EventSinkSettings::clips) are called ID.mp4 or ID.mkv. One that is cut from a file is
/// complete before the end of its event is written. One that is encoded is NAME.part until the
/// post-roll has passed, the stream begins anew, or close(). If a clip cannot be written, what the
/// disk has of it gets its name, if it has pictures; otherwise there is no clip, and an event that
/// ends later does not name it. An event that has ended already names it. So if a clip has three
/// pictures up to the begin, the first of them is on the disk before the begin is written. write()
/// throws OutputError after the event is recorded, unless losses are allowed: then a warning is
/// logged, once. close() logs the number of such clips, and SinkStats::lost_clips counts them. If
/// an earlier process was killed, the clips of this journal that it left as NAME.part get their
/// names, if they have pictures. SinkStats::written counts the frames in which it has looked for
/// events.
///
/// A stream whose record has discontinuity `start` begins anew, also under the id of one that has
/// ended. Throws OutputError if the file cannot be opened or is not a regular file, another sink or
/// process writes to it, or the folder of snapshots does not exist; InvalidArgument if a rule or
/// setting is not valid. Its write() throws OutputError, also for a snapshot that cannot be
/// written, unless losses are allowed; the event then has none. Thread safety: thread-safe.
VCAP_EXPORT std::unique_ptr<Sink> make_event_sink(const std::string& path, const EventRules& rules,
                                                  EventSinkSettings settings = {});

}  // namespace vcap
