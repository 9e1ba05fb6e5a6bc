// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"
#include "vcap/capsule/backend.hpp"
#include "vcap/capsule/capsule_files.hpp"
#include "vcap/capsule/capsule_info.hpp"

namespace vcap {

/// What an author derives from: makes backends. The derived class also has
/// `static CapsuleInfo info()`, and VCAP_CAPSULE(Derived) makes it the plugin's entry.
///
/// Made and owned by a Capsule, one for each load. Thread safety: load_backend may be called for
/// several devices at once; the rest is thread-compatible.
class VCAP_EXPORT BaseCapsule {
 public:
  BaseCapsule() = default;
  BaseCapsule(const BaseCapsule&) = delete;
  BaseCapsule& operator=(const BaseCapsule&) = delete;
  virtual ~BaseCapsule();

  /// Fetches what the description's resources cannot name, such as what depends on config(). Runs
  /// once for each load that starts backends, before the first of them; the declared resources are
  /// among `files` by then. What it throws fails the load. Does nothing by default. [loader]
  virtual void fetch_resources(const CapsuleFiles& files);

  /// A backend on `device`, which is one that the device mapper returned. `files` outlives it.
  /// [loader, concurrent]
  virtual std::unique_ptr<Backend> load_backend(const CapsuleFiles& files,
                                                const std::string& device) = 0;

  /// The configuration that the host gave at load; an object, empty by default.
  const nlohmann::json& config() const noexcept { return config_; }

 private:
  friend class Capsule;
  nlohmann::json config_ = nlohmann::json::object();
};

}  // namespace vcap
