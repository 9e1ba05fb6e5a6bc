// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap {

/// What went wrong, as a number that stays the same from release to release. New codes are added;
/// existing codes are never renumbered or reused. The hundreds digit gives the group.
enum class ErrorCode : int {
  // 1xx: use of the API and its values
  invalid_argument = 100,
  type_mismatch = 101,
  invalid_node = 102,
  invalid_json = 103,
  invalid_config = 104,
  empty_crop = 110,
  // 12x: options
  unknown_option = 120,
  option_type = 121,
  option_range = 122,
  invalid_option_declaration = 123,
  // 2xx: batching
  batch_result_count = 200,
  queue_full = 201,
  deadline_exceeded = 202,
  cancelled = 203,
  closed = 204,
  reentrant_submit = 205,
  // 3xx: devices
  no_device = 300,
  unknown_device = 301,
  // 4xx: an invalid capsule file
  capsule_not_found = 400,
  not_an_archive = 401,
  limit_exceeded = 402,
  unsafe_entry = 403,
  no_manifest = 404,
  invalid_manifest = 405,
  digest_mismatch = 406,
  missing_entry = 407,
  invalid_library = 408,
  no_entry_symbol = 409,
  invalid_capsule_info = 410,
  unlisted_entry = 411,
  ambiguous_archive = 412,
  unsupported_entry = 413,
  damaged_entry = 414,
  unsafe_library = 415,
  missing_dependency = 416,
  capsule_changed = 417,
  // 42x: a capsule file that cannot be trusted or cannot be read
  unsigned_capsule = 420,
  bad_signature = 421,
  unknown_key = 422,
  revoked_key = 423,
  version_rollback = 424,
  encrypted_capsule = 425,
  wrong_key = 426,
  damaged_encryption = 427,
  invalid_key = 428,
  // 43x: a valid capsule file that does not fit this host
  unsupported_platform = 430,
  unsupported_api_version = 431,
  abi_mismatch = 432,
  unsupported_format_version = 433,
  // 45x: a capsule whose own code failed
  capsule_threw = 450,
  backend_load_failed = 451,
  no_backend = 452,
  misbehaving_capsule = 453,
  invalid_output = 454,
  // 46x: a capsule's resource that cannot be provided
  resource_unavailable = 460,
  resource_mismatch = 461,
  resource_offline = 462,
  resource_cache = 463,
  // 5xx: plans
  unsatisfied_input = 500,
  plan_cycle = 501,
  duplicate_capsule = 502,
  duplicate_picture = 503,
  // 51x: a frame for which a capsule cannot be called
  stencil_edge = 510,
  // 6xx: sources
  source_open = 600,
  source_read = 601,
  source_empty = 602,
  duplicate_stream = 603,
  unknown_stream = 604,
  source_not_as_indexed = 605,
  // 7xx: outputs
  output_open = 700,
  output_write = 701,
  // 8xx: inference engines and their models
  engine_missing = 800,
  unreadable_model = 801,
  unsupported_model = 802,
  model_input = 803,
  model_output = 804,
  inference_failed = 805,
  invalid_model_spec = 806,
  // 9xx: a cluster
  broker_unreachable = 900,
  broker_refused = 901,
  broker_unfit = 902,
  invalid_message = 903,
  object_missing = 904,
};

/// The name of the enumerator, such as "option_range". Thread-safe.
VCAP_EXPORT std::string_view to_string(ErrorCode code) noexcept;

/// The base class of every exception that vcap throws. The message names the thing, the value it
/// had, what was allowed, and what to do. Thread safety: value.
class VCAP_EXPORT Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message);
  ~Error() override;
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// An argument or a value that the function does not accept, or JSON of the wrong form.
class VCAP_EXPORT InvalidArgument : public Error {
 public:
  using Error::Error;
  ~InvalidArgument() override;
};

/// Nodes or values of another kind than requested, such as `single()` of a list.
class VCAP_EXPORT TypeMismatch : public Error {
 public:
  explicit TypeMismatch(const std::string& message);
  ~TypeMismatch() override;
};

/// An option that is unknown, of the wrong type, out of range, or wrongly declared.
class VCAP_EXPORT OptionError : public Error {
 public:
  using Error::Error;
  ~OptionError() override;
};

/// A batch request that got no result: the queue was full, its deadline passed, it was cancelled,
/// the executor was closed, or batch_predict broke its contract.
class VCAP_EXPORT BatchError : public Error {
 public:
  using Error::Error;
  ~BatchError() override;
};

/// There is no device, or the device does not exist. The message lists the devices found.
class VCAP_EXPORT DeviceError : public Error {
 public:
  using Error::Error;
  ~DeviceError() override;
};

/// The stages of loading a capsule; docs/capsule-format.md says what each stage checks.
enum class LoadStage {
  open,
  decryption,
  trust,
  archive,
  manifest,
  digests,
  platform,
  resources,
  library,
  entry,
  description,
  devices,
  backends,
};

/// The name of the enumerator. Thread-safe.
VCAP_EXPORT std::string_view to_string(LoadStage stage) noexcept;

/// A capsule that cannot be loaded. If the exception is of no derived type, the capsule's own code
/// failed.
class VCAP_EXPORT CapsuleLoadError : public Error {
 public:
  CapsuleLoadError(ErrorCode code, const std::string& message, std::string entry = {});
  ~CapsuleLoadError() override;

  /// The name of the faulty file in the capsule; empty if no single file is at fault.
  const std::string& entry() const& noexcept { return *entry_; }
  std::string entry() && { return *entry_; }
  /// The stage at which loading failed; `nullopt` if no capsule was being loaded.
  std::optional<LoadStage> stage() const noexcept { return stage_; }
  /// Sets the stage, unless it is already set.
  void note_stage(LoadStage stage) noexcept {
    if (!stage_) stage_ = stage;
  }

 private:
  std::shared_ptr<const std::string> entry_;  // shared, so that copying an exception cannot throw
  std::optional<LoadStage> stage_{};
};

/// A capsule file that is broken or breaks the format's rules, on any host.
class VCAP_EXPORT InvalidCapsuleError : public CapsuleLoadError {
 public:
  using CapsuleLoadError::CapsuleLoadError;
  ~InvalidCapsuleError() override;
};

/// A capsule file that may be valid, but does not fit this platform, API version or ABI.
class VCAP_EXPORT IncompatibleCapsuleError : public CapsuleLoadError {
 public:
  using CapsuleLoadError::CapsuleLoadError;
  ~IncompatibleCapsuleError() override;
};

/// A capsule file that the host's TrustPolicy rejects, or that cannot be decrypted.
class VCAP_EXPORT UntrustedCapsuleError : public CapsuleLoadError {
 public:
  using CapsuleLoadError::CapsuleLoadError;
  ~UntrustedCapsuleError() override;
};

/// A capsule's resource that cannot be fetched, does not match its declaration, or cannot be
/// stored.
class VCAP_EXPORT ResourceError : public CapsuleLoadError {
 public:
  using CapsuleLoadError::CapsuleLoadError;
  ~ResourceError() override;
};

/// Capsules that cannot be ordered: no capsule provides an input, there is a cycle, or two capsules
/// have the same name.
class VCAP_EXPORT PlanError : public Error {
 public:
  using Error::Error;
  ~PlanError() override;
};

/// An inference engine, a model or its description that cannot be used. The message names the
/// model, the input or output at fault, its value and the remedy.
class VCAP_EXPORT EngineError : public Error {
 public:
  using Error::Error;
  ~EngineError() override;
};

/// A source of frames, or a stream, that cannot be opened or read.
class VCAP_EXPORT SourceError : public Error {
 public:
  using Error::Error;
  ~SourceError() override;
};

/// A cluster's broker that cannot be reached, refuses an operation, or has an unsuitable version or
/// configuration; or a message or object of a cluster that is missing or invalid.
class VCAP_EXPORT ClusterError : public Error {
 public:
  using Error::Error;
  ~ClusterError() override;
};

/// A file or sink that cannot be opened or written.
class VCAP_EXPORT OutputError : public Error {
 public:
  using Error::Error;
  ~OutputError() override;
};

}  // namespace vcap
