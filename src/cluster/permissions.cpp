// SPDX-License-Identifier: Apache-2.0
#include "cluster/permissions.hpp"

#include <array>
#include <cstddef>

#include "cluster/site.hpp"

namespace vcap {
namespace {

/// What may be done with a stream. JetStream itself gives no finer rights: who may read a stream
/// may also make and delete its consumers.
enum Right : unsigned {
  kNothing = 0,
  kRead = 1,     ///< its messages, and the notices of new ones
  kWrite = 2,    ///< new messages
  kErase = 4,    ///< single messages
  kPurge = 8,    ///< all messages of a subject
  kDeliver = 16  ///< the durable consumers of queues
};

/// The rights of the roles, in their order.
using Rights = std::array<unsigned, 3>;

struct KindRights {
  Site::Kind kind;
  Rights rights;
};

constexpr unsigned kEverything = kRead | kWrite | kErase | kPurge;
// A line for each kind: worker, client, reader.
constexpr std::array kKindRights{
    // The worker that begins a video puts its slices.
    KindRights{Site::Kind::task, {kRead | kWrite | kDeliver, kEverything | kDeliver, kRead}},
    KindRights{Site::Kind::lease, {kRead | kWrite | kErase, kEverything, kRead}},
    // Whoever finds an invalid message erases it.
    KindRights{Site::Kind::settled, {kRead | kWrite | kErase, kEverything, kRead}},
    KindRights{Site::Kind::job, {kRead, kRead | kWrite | kErase, kRead}},
    KindRights{Site::Kind::plan, {kRead | kWrite, kRead | kPurge, kNothing}},
    // The worker that has stopped a stream removes what is left of it.
    KindRights{Site::Kind::stream, {kRead | kPurge, kRead | kWrite | kPurge, kRead}},
    KindRights{Site::Kind::owner, {kRead | kWrite | kPurge, kRead, kRead}},
    KindRights{Site::Kind::worker, {kRead | kWrite, kRead | kPurge, kRead}},
    KindRights{Site::Kind::order, {kRead, kRead | kWrite | kPurge, kRead}},
    KindRights{Site::Kind::record, {kRead | kWrite, kRead, kRead}},
    KindRights{Site::Kind::event, {kRead | kWrite, kRead | kWrite, kRead}},
};
/// Capsules and results. A worker removes the results of an attempt that came too late.
constexpr Rights kObjectRights{kEverything, kEverything, kNothing};
/// Whether the role may create the streams of a site that does not exist yet.
constexpr std::array kMayCreate{true, true, false};

void add_stream(LoginPermissions& permissions, const std::string& stream, unsigned rights,
                bool may_create) {
  const std::string api = "$JS.API.";
  const auto allow = [&](std::string subject) {
    permissions.publish.push_back(std::move(subject));
  };
  allow(api + "STREAM.INFO." + stream);
  if (may_create) allow(api + "STREAM.CREATE." + stream);
  if ((rights & kRead) != 0) {
    allow(api + "STREAM.MSG.GET." + stream);
    allow(api + "CONSUMER.CREATE." + stream);
    for (const char* const operation : {"INFO.", "MSG.NEXT.", "DELETE."})
      allow(api + "CONSUMER." + operation + stream + ".*");
  }
  if ((rights & kErase) != 0) allow(api + "STREAM.MSG.DELETE." + stream);
  if ((rights & kPurge) != 0) allow(api + "STREAM.PURGE." + stream);
  if ((rights & kDeliver) != 0) {
    allow(api + "CONSUMER.DURABLE.CREATE." + stream + ".*");
    allow("$JS.ACK." + stream + ".>");
  }
}

}  // namespace

std::string_view to_string(ClusterRole role) noexcept {
  switch (role) {
    case ClusterRole::worker:
      return "worker";
    case ClusterRole::client:
      return "client";
    case ClusterRole::reader:
      return "reader";
  }
  return {};
}

LoginPermissions permissions_of(const std::string& site_name, ClusterRole role,
                                const std::string& inbox) {
  const Site site(site_name);
  const auto column = static_cast<std::size_t>(role);
  const bool may_create = kMayCreate[column];
  LoginPermissions permissions{.publish = {"$JS.API.INFO"}, .subscribe = {inbox + ".>"}};
  for (const KindRights& row : kKindRights) {
    const unsigned rights = row.rights[column];
    add_stream(permissions, site.stream(row.kind), rights, may_create);
    if ((rights & kWrite) != 0) permissions.publish.push_back(site.subject(row.kind, {}) + ".>");
    if ((rights & kRead) != 0) permissions.subscribe.push_back(site.note(row.kind, {}) + ".>");
  }
  const unsigned rights = kObjectRights[column];
  add_stream(permissions, "OBJ_" + site.bucket(), rights, may_create);
  if ((rights & kWrite) != 0) permissions.publish.push_back("$O." + site.bucket() + ".>");
  return permissions;
}

}  // namespace vcap
