// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/capsule_settings.hpp"
#include "cli/run_arguments.hpp"
#include "cli/run_streams.hpp"
#include "vcap/image/annotator.hpp"
#include "vcap/view/live_view.hpp"

namespace vcap::cli {

/// What a run's live view works with. Borrows; all of it outlives the view.
struct RunViewParts {
  const RunArguments& arguments;
  const CapsuleSettings& settings;
  Pipeline& pipeline;
  RunStreams& streams;
  /// A stream that a client adds, with the run's sinks and policies.
  std::function<StreamConfig(const std::string& id, std::unique_ptr<Source> source)> make_stream;
  /// What draws on a stream's pictures and recordings.
  std::function<std::unique_ptr<Annotator>(const std::string& id)> make_annotator;
};

/// Shows the streams, with the log, for as long as the result lives, and says where. Null without
/// --view. Throws UsageError, and what LiveView throws.
std::shared_ptr<LiveView> offer_view(const RunViewParts& parts);

}  // namespace vcap::cli
