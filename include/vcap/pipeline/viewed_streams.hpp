// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "vcap/pipeline/pipeline.hpp"

namespace vcap {

/// Streams that a live view may show but not change, because something else decides what they are:
/// those of a cluster's worker (ClusterWorker::viewed_streams()). Passed to LiveView. The functions
/// are called by threads of the view, and must return soon. Thread safety: value.
struct ViewedStreams {
  /// A stream as a list shows it. Thread safety: value.
  struct Listed {
    std::string id{};
    std::string state{};   ///< in one word, such as "running"
    std::string worker{};  ///< the name of the process that runs it; empty: none
    std::string view{};    ///< the URL of that process's live view; empty: none that can be reached
    std::string reason{};  ///< why the stream does not run, or what is wrong; empty: nothing
  };

  /// The pipelines whose streams are shown with pictures and records now. The view holds them only
  /// during a query.
  std::function<std::vector<std::shared_ptr<const Pipeline>>()> pipelines{};
  /// All streams that there are, here and elsewhere, by their ids. The view lists those that are in
  /// none of the pipelines. Called at most twice a second. Empty: none.
  std::function<std::vector<Listed>()> all{};
  /// Why the view changes nothing, and what to use instead: the answer to a client that tries.
  std::string refusal = "this view does not change streams";
};

}  // namespace vcap
