// SPDX-License-Identifier: Apache-2.0
#include "loading/resources.hpp"

#include <cstdlib>
#include <map>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "loading/load_stage.hpp"
#include "loading/open_capsule.hpp"
#include "loading/resources/resource_failure.hpp"
#include "loading/resources/resource_settings.hpp"
#include "loading/resources/single_flight.hpp"
#include "vcap/base/error.hpp"
#include "vcap/loading/fetch_resources.hpp"

namespace vcap {
namespace {

using Held = std::shared_ptr<const HeldResource>;

/// The result of a fetch. A failure is a value, so that each waiting load throws its own error.
struct Fetch {
  Held held{};
  ErrorCode code{};
  std::string failure{};
};

/// Loads that request the same file from the same source share one fetch and its failure.
Held obtain_once(ResourceCache& cache, const Resource& resource) {
  static SingleFlight<Fetch> flights;
  const std::string key = cache.path_of(resource).native() + "\n" + cache.source_of(resource) +
                          "\n" + std::to_string(resource.size);
  const Fetch fetch = flights.run(key, [&]() -> Fetch {
    try {
      return {.held = cache.obtain(resource)};
    } catch (const ResourceFailure& failure) {
      return {.code = failure.code(), .failure = failure.what()};
    } catch (const std::system_error& error) {
      return {.code = ErrorCode::resource_cache,
              .failure = error.what() + std::string("; try again")};
    }
  });
  if (fetch.held == nullptr) throw ResourceFailure(fetch.code, fetch.failure);
  return fetch.held;
}

/// Adds the names of capsule and resource to errors.
template <class Call>
auto as_resource_error(const std::string& name, const std::string& capsule, Call call) {
  const std::string subject =
      (name.empty() ? "the resources" : "resource " + quote(name)) + " of " + capsule + ": ";
  try {
    return call();
  } catch (const ResourceFailure& failure) {
    throw ResourceError(failure.code(), subject + failure.what(), name);
  } catch (const std::system_error& error) {
    throw ResourceError(ErrorCode::resource_cache, subject + error.what() + "; try again", name);
  }
}

}  // namespace

std::vector<NamedResource> obtain_resources(const std::vector<Resource>& resources,
                                            const std::string& capsule,
                                            const ResourceOptions& options) {
  std::vector<NamedResource> obtained;
  if (resources.empty()) return obtained;
  ResourceCache cache = as_resource_error("", capsule, [&options] {
    return ResourceCache(
        with_environment(options, [](const char* name) { return std::getenv(name); }));
  });
  for (const Resource& resource : resources)
    obtained.push_back({.name = resource.name,
                        .file = as_resource_error(resource.name, capsule,
                                                  [&] { return obtain_once(cache, resource); })});
  return obtained;
}

CapsuleFiles with_resources(const CapsuleFiles& shipped, std::vector<NamedResource> resources) {
  struct Storage {
    CapsuleFiles shipped;
    std::vector<NamedResource> resources;
  };
  std::map<std::string, CapsuleFiles::Bytes, std::less<>> views;
  for (const std::string& name : shipped.names()) views.emplace(name, shipped[name]);
  for (const NamedResource& resource : resources)
    views.emplace(resource.name, resource.file->content->bytes());
  return {std::move(views),
          std::make_shared<const Storage>(Storage{shipped, std::move(resources)})};
}

std::vector<FetchedResource> fetch_resources(const std::string& capsule,
                                             const LoadOptions& options) {
  const OpenedCapsule opened = open_capsule(capsule, options);
  const std::vector<Resource>& resources = opened.manifest().info.resources;
  return at_stage(LoadStage::resources, [&] {
    const std::vector<NamedResource> obtained =
        obtain_resources(resources, opened.name(), options.resources);
    std::vector<FetchedResource> fetched;
    for (std::size_t i = 0; i < resources.size(); ++i)
      fetched.push_back({.resource = resources[i], .path = obtained[i].file->path});
    return fetched;
  });
}

}  // namespace vcap
