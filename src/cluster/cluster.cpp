// SPDX-License-Identifier: Apache-2.0
#include "vcap/cluster/cluster.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "cluster/cluster_impl.hpp"
#include "cluster/server_check.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

using std::chrono::milliseconds;

constexpr int kMostReplicas = 5;  // of JetStream

[[noreturn]] void refuse(const std::string& words) {
  throw InvalidArgument(ErrorCode::invalid_argument, "cluster: " + words);
}

ClusterSettings checked(ClusterSettings settings) {
  if (settings.url.empty()) refuse("there is no URL; give one such as nats://127.0.0.1:4222");
  if (settings.url.find('@') != std::string::npos)
    refuse("the URL has a user, password or token; put them into a file of credentials");
  for (std::size_t at = 0; at <= settings.url.size();) {
    const std::size_t end = std::min(settings.url.find(',', at), settings.url.size());
    const std::string one = settings.url.substr(at, end - at);
    if (!one.starts_with("nats://") && !one.starts_with("tls://"))
      refuse("the URL " + quote(one) + " begins with neither nats:// nor tls://");
    at = end + 1;
  }
  for (const std::string* const file :
       {&settings.credentials, &settings.nkey, &settings.certificates, &settings.certificate,
        &settings.key})
    if (!file->empty() && ::access(file->c_str(), R_OK) != 0)
      refuse("the file " + quote(*file) +
             " cannot be read: " + std::generic_category().message(errno));
  if (settings.timeout < milliseconds(1) || settings.timeout > std::chrono::hours(1))
    refuse("timeout must be 1 ms to 1 hour, got " + std::to_string(settings.timeout.count()) +
           " ms");
  if (settings.patience < milliseconds(0))
    refuse("patience must be >= 0, got " + std::to_string(settings.patience.count()) + " ms");
  if (settings.certificate.empty() != settings.key.empty())
    refuse("a certificate and its key must be given together");
  if (!settings.credentials.empty() && !settings.nkey.empty())
    refuse("there are credentials and an NKey; give one of them");
  if (settings.replicas < 0 || settings.replicas > kMostReplicas)
    refuse("replicas must be 0 to " + std::to_string(kMostReplicas) + ", got " +
           std::to_string(settings.replicas));
  return settings;
}

}  // namespace

Cluster::Impl::Watch::Watch(Impl& cluster, std::function<void()> on_change) : cluster_(cluster) {
  const MutexLock lock(cluster_.mutex_);
  place_ = cluster_.watchers_.insert(cluster_.watchers_.end(), std::move(on_change));
}

Cluster::Impl::Watch::~Watch() {
  const MutexLock lock(cluster_.mutex_);
  cluster_.watchers_.erase(place_);
}

Cluster::Impl::Impl(const ClusterSettings& given)
    : settings(checked(given)),
      site(settings.site),
      broker(connect_broker(settings, [this](const std::string& loss) { changed(loss); })),
      jet_stream(*broker, settings) {}

Cluster::Impl::~Impl() = default;

void Cluster::Impl::close() noexcept {
  is_closing_ = true;
  broker->close();
}

void Cluster::Impl::changed(const std::string& loss) {
  if (is_closing_) return;
  log(loss.empty() ? LogLevel::info : LogLevel::warning,
      "cluster: " + (loss.empty() ? "connected to the broker again" : "the broker: " + loss));
  const MutexLock lock(mutex_);
  for (const std::function<void()>& watcher : watchers_) watcher();
}

std::shared_ptr<Cluster> Cluster::connect(const ClusterSettings& settings) {
  auto impl = std::make_unique<Impl>(settings);
  check_server(impl->jet_stream);
  prepare_streams(impl->jet_stream, impl->site, settings.create_site, settings.replicas);
  return std::make_shared<Cluster>(std::move(impl));
}

Cluster::Cluster(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Cluster::~Cluster() = default;

std::string Cluster::site() const { return impl_->site.name(); }
bool Cluster::is_connected() const { return impl_->broker->is_connected(); }
void Cluster::close() noexcept { impl_->close(); }

bool Cluster::answers(milliseconds within) const noexcept {
  try {
    const std::string stream = impl_->site.stream(Site::Kind::job);
    impl_->broker->request({.subject = "$JS.API.STREAM.INFO." + stream}, within);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace vcap
