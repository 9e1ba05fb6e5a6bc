// SPDX-License-Identifier: Apache-2.0
#include "cluster/site_events.hpp"

#include <exception>
#include <utility>

#include "vcap/base/log.hpp"

namespace vcap {

SiteEvents::SiteEvents(std::shared_ptr<Cluster> cluster, std::string who)
    : cluster_(std::move(cluster)), who_(std::move(who)) {}

void SiteEvents::tell(const std::string& what, nlohmann::json details) noexcept {
  tell_site(*cluster_, who_, what, std::move(details));
}

void tell_site(Cluster& cluster, const std::string& who, const std::string& what,
               nlohmann::json details) noexcept {
  try {
    details["schema"] = "vcap.cluster-event/1";
    details["event"] = what;
    details["by"] = who;
    const Cluster::Impl& impl = cluster.impl();
    impl.broker->publish(
        {.subject = impl.site.subject(Site::Kind::event, {who}),
         .body = details.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
  } catch (const std::exception& error) {
    log(LogLevel::debug, "cluster: an event is lost: " + std::string(error.what()));
  }
}

}  // namespace vcap
