// SPDX-License-Identifier: Apache-2.0
#include "records/journal_follower.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "records/message_pump.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

constexpr std::size_t kFollowBlock = std::size_t{64} << 10;

/// The stream of an event's line; `nullopt` if the line is damaged.
std::optional<std::string> stream_of_line(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto stream = json.find("stream_id");
  if (stream == json.end() || !stream->is_string()) return std::nullopt;
  return stream->get<std::string>();
}

}  // namespace

JournalFollower::JournalFollower(std::shared_ptr<Publisher> publisher, const EventFile& journal)
    : publisher_(std::move(publisher)) {
  const std::shared_ptr<MessagePump> pump = publisher_->pump();
  MessageSpool& spool = pump->spool();
  place_ = spool.place();
  const auto end = static_cast<std::uint64_t>(journal.end());
  if (place_.file == journal.inode() && place_.position <= end) return;
  place_ = {.file = journal.inode(), .position = static_cast<std::uint64_t>(journal.found_end())};
  spool.set_place(place_);
}

std::string JournalFollower::follow(const EventFile& journal) {
  const auto end = static_cast<std::uint64_t>(journal.end());
  std::string text;
  while (place_.position + text.size() < end) {
    const std::uint64_t from = place_.position + text.size();
    const std::size_t had = text.size();
    text.resize(had + std::min<std::uint64_t>(end - from, kFollowBlock));
    const ssize_t count = ::pread(journal.descriptor(), text.data() + had, text.size() - had,
                                  static_cast<off_t>(from));
    text.resize(had + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    const std::size_t taken = take_lines(text);
    const bool is_stuck = text.find('\n', taken) != text.npos;
    text.erase(0, taken);
    if (is_stuck) break;
  }
  return std::exchange(warning_, {});
}

/// Returns the bytes of the lines that the spool took.
std::size_t JournalFollower::take_lines(std::string_view text) {
  std::size_t taken = 0;
  for (std::size_t end; (end = text.find('\n', taken)) != text.npos; taken = end + 1) {
    place_.position += end + 1 - taken;
    if (take_line(text.substr(taken, end - taken))) continue;
    place_.position -= end + 1 - taken;
    break;
  }
  return taken;
}

bool JournalFollower::take_line(std::string_view line) {
  const auto stream = stream_of_line(line);
  if (!stream) return true;
  try {
    publisher_->pump()->add(*stream, line, place_);
    return true;
  } catch (const OutputError& error) {
    if (!std::exchange(has_warned_, true))
      warning_ = publisher_->pump()->name() + ": " + error.what() +
                 "; the events are in the journal, and are taken from it later";
    return false;
  }
}

}  // namespace vcap
