// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "base/thread_annotations.hpp"
#include "cluster/broker.hpp"
#include "cluster/jet_stream.hpp"
#include "cluster/site.hpp"
#include "vcap/cluster/cluster.hpp"

namespace vcap {

/// A connection with what all its users share. Thread safety: thread-safe.
struct Cluster::Impl {
  /// Calls a function after messages may have been lost, until it is destroyed.
  class Watch {
   public:
    Watch(Impl& cluster, std::function<void()> on_change);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    Impl& cluster_;
    std::list<std::function<void()>>::iterator place_;
  };

  /// Throws ClusterError, InvalidArgument.
  explicit Impl(const ClusterSettings& given);
  ~Impl();
  void close() noexcept;

  const ClusterSettings settings;
  const Site site;

 private:
  void changed(const std::string& loss) VCAP_EXCLUDES(mutex_);

  std::atomic<bool> is_closing_ = false;
  Mutex mutex_;  ///< held while watchers run
  std::list<std::function<void()>> watchers_ VCAP_GUARDED_BY(mutex_);

 public:
  const std::unique_ptr<Broker> broker;  ///< after what its threads use
  JetStream jet_stream;
};

}  // namespace vcap
