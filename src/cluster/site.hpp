// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cluster/jet_stream.hpp"

namespace vcap {

/// The names of a site's streams and subjects. A stream has the subjects `vcap.SITE.KIND.>`.
/// Thread safety: value.
class Site {
 public:
  /// The kinds of messages, each in a stream of its own.
  enum class Kind {
    task,     ///< the tasks of queues: one message for each, which never changes
    lease,    ///< leases on tasks, and the failed attempts at them: the last state of each
    settled,  ///< how a task ended: the first message of each counts
    job,      ///< jobs: the last state of each
    plan,     ///< how the videos of jobs are cut: the last plan of each
    stream,   ///< streams as they are to be: the last state of each
    owner,    ///< who runs a stream: the last state of each
    worker,   ///< workers: the last heartbeat of each
    order,    ///< what an operator wants of workers: the last order for each
    record,   ///< the records of streams, in batches: for a day
    event,    ///< what has happened in the site: for a week
  };

  /// Throws InvalidArgument if the name is not 1 to 32 of `A-Za-z0-9_-`.
  explicit Site(std::string name);

  const std::string& name() const noexcept { return name_; }
  std::string stream(Kind kind) const;
  /// `parts` may be any bytes, and are escaped.
  std::string subject(Kind kind, std::initializer_list<std::string_view> parts) const;
  /// The subject that matches all that begin with these parts and have one more.
  std::string all(Kind kind, std::initializer_list<std::string_view> parts) const;
  /// Where a stream announces a message that it has stored with such a subject.
  std::string note(Kind kind, std::initializer_list<std::string_view> parts) const;
  /// The same for all that have one more part.
  std::string notes(Kind kind, std::initializer_list<std::string_view> parts) const;

  /// The name of the object store.
  std::string bucket() const { return "vcap_" + name_; }

  /// The configuration of each stream, as JetStream's API has it.
  std::vector<nlohmann::json> streams(int replicas) const;

 private:
  const std::string name_;
};

/// Text of any bytes as a token of a subject: `=` and two digits stand for a byte that is not one
/// of `A-Za-z0-9_-`.
std::string to_token(std::string_view text);
/// The last token of a subject, as the text that it stands for. Throws ClusterError
/// (invalid_message).
std::string last_token(std::string_view subject);
/// The same for the name of a stream or a worker, which is UTF-8.
std::string last_name(std::string_view subject);

/// Creates the site's streams that are missing, if it may, and checks the others. `replicas`: as
/// ClusterSettings has it. Throws ClusterError: broker_unfit with the line to change,
/// broker_refused.
void prepare_streams(JetStream& jet_stream, const Site& site, bool may_create, int replicas);

}  // namespace vcap
