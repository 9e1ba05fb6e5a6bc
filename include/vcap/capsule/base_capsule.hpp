// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/base/json_value.hpp"
#include "vcap/capsule/backend.hpp"
#include "vcap/capsule/capsule_files.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/capsule/stencil.hpp"

namespace vcap {

namespace detail {
struct AuthorSettings;
}

/// The base class of an author's capsule: makes backends. The derived class also has `static
/// CapsuleInfo info()`; VCAP_CAPSULE(Derived) makes it the plugin's entry.
///
/// A Capsule makes and owns one for each load. Thread safety: load_backend may be called for
/// several devices at once; the rest is thread-compatible.
class VCAP_EXPORT BaseCapsule {
 public:
  BaseCapsule() = default;
  BaseCapsule(const BaseCapsule&) = delete;
  BaseCapsule& operator=(const BaseCapsule&) = delete;
  virtual ~BaseCapsule();

  /// Fetches files that the description's resources cannot name, such as files that depend on
  /// config(). Runs once for each load that starts backends, before the first backend; `files` then
  /// includes the declared resources. What is fetched once a machine is fetched in fetch_once()
  /// (vcap/loading/fetch_once.hpp). If it throws, the load fails. Does nothing by default.
  /// [loader]
  virtual void fetch_resources(const CapsuleFiles& files);

  /// Makes a backend on `device`, which is one that the device mapper returned. `files` outlives
  /// it. [loader, concurrent]
  virtual std::unique_ptr<Backend> load_backend(const CapsuleFiles& files,
                                                const std::string& device) = 0;

  /// The configuration that the host gave at load; an object, empty by default.
  const nlohmann::json& config() const& noexcept { return config_; }
  const nlohmann::json& config() const&& = delete;  // would refer into a temporary
  /// The stencil of the windows that backends get: that of the description, or the host's in its
  /// place. `nullopt` if the description has none.
  const std::optional<Stencil>& stencil() const& noexcept { return stencil_; }
  const std::optional<Stencil>& stencil() const&& = delete;

 private:
  friend struct detail::AuthorSettings;
  JsonValue config_ = JsonValue::object();
  std::optional<Stencil> stencil_{};
};

}  // namespace vcap
