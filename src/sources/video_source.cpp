// SPDX-License-Identifier: Apache-2.0
#include "sources/video_source.hpp"

#include <utility>

#include "files/url.hpp"
#include "sources/broken_log.hpp"
#include "sources/live_source.hpp"
#include "sources/stored_source.hpp"
#include "sources/video_frames.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

/// A camera on the network.
class NetworkFeed final : public LiveFeed {
 public:
  NetworkFeed(std::unique_ptr<AvInput> input, const SourceOptions& options)
      : threads_(options.decoder_threads),
        decoder_(std::move(input), AvDecoder::Pace::live, options.hardware, threads_),
        broken_(decoder_.input().address().name) {}

  SourceInfo info() const override { return decoder_.info(); }
  LivePicture next() override {
    if (decoder_.next()) {
      LivePicture picture{.image = decoder_.picture(),
                          .follows_damage = decoder_.follows_damage(),
                          .broken = take_broken()};
      if (decoder_.input().tells_times()) picture.time = decoder_.time();
      return picture;
    }
    const std::string& failure = decoder_.input().failure();
    throw SourceError(ErrorCode::source_read,
                      failure.empty() ? "the server closed the connection" : failure);
  }

 private:
  /// A camera's times mean nothing to a user, so pictures are only counted. What cannot be decoded
  /// before a connection's first picture is what its keyframe is waited for.
  BrokenPictures take_broken() {
    const std::int64_t missing = decoder_.take_missing().count;
    if (std::exchange(has_picture_, true)) broken_.skip_unnamed(missing);
    return broken_.take();
  }

  DecoderThreads threads_;
  AvDecoder decoder_;
  BrokenLog broken_;
  bool has_picture_ = false;
};

std::unique_ptr<Source> open_file(const fs::path& path, AvAccess access,
                                  const SourceOptions& options) {
  const std::string name = "file " + path.string();
  std::error_code unknown;
  if (fs::is_regular_file(path, unknown) && fs::file_size(path, unknown) == 0)
    throw SourceError(ErrorCode::source_empty, name + " is empty; check how it was made");
  const std::stop_source stop;
  AvAddress address{.url = "file:" + path.string(),  // needed for a name like "a:b.avi"
                    .name = name,
                    .cannot_open =
                        "cannot be opened as a video ({}); it is damaged, not readable, or of a "
                        "format that FFmpeg does not know",
                    .access = std::move(access),
                    .max_pixels = options.max_pixels,
                    .stop = stop.get_token()};
  return make_stored_source(
      std::make_unique<VideoFrames>(std::make_unique<AvInput>(std::move(address)), options.hardware,
                                    options.decoder_threads),
      options, stop);
}

std::unique_ptr<Source> open_address(const std::string& url, AvAccess access,
                                     const SourceOptions& options) {
  const std::stop_source stop;
  const AvAddress address{.url = url,
                          .name = "URL " + without_password(url),
                          .cannot_open =
                              "cannot be opened ({}); check the address, user and password, and "
                              "that the camera can be reached from here",
                          .access = std::move(access),
                          .max_pixels = options.max_pixels,
                          .silence_limit = options.silence_limit,
                          .stop = stop.get_token()};
  const auto connect = [address, options](const std::stop_token&) {
    return std::make_unique<NetworkFeed>(std::make_unique<AvInput>(address), options);
  };
  if (options.connect_later) {
    refuse_range(options, address.name);
    return std::make_unique<LiveSource>(SourceInfo{.description = address.name}, connect,
                                        options.reconnect, stop);
  }
  auto input = std::make_unique<AvInput>(address);
  if (input->frames())
    return make_stored_source(
        std::make_unique<VideoFrames>(std::move(input), options.hardware, options.decoder_threads),
        options, stop);
  refuse_range(options, address.name);
  return std::make_unique<LiveSource>(std::make_unique<NetworkFeed>(std::move(input), options),
                                      connect, options.reconnect, stop);
}

}  // namespace

std::unique_ptr<Source> open_video_file(const fs::path& path, const SourceOptions& options) {
  return open_file(path, AvAccess::stored_file(), options);
}

std::unique_ptr<Source> open_hls_file(const fs::path& path, const SourceOptions& options) {
  return open_file(path, AvAccess::hls(false), options);
}

std::unique_ptr<Source> open_ffconcat_file(const fs::path& path, const SourceOptions& options) {
  return open_file(path, AvAccess::ffconcat(), options);
}

std::unique_ptr<Source> open_url(const std::string& url, const SourceOptions& options) {
  return open_address(url, AvAccess::network(), options);
}

std::unique_ptr<Source> open_hls_url(const std::string& url, const SourceOptions& options) {
  return open_address(url, AvAccess::hls(true), options);
}

}  // namespace vcap
