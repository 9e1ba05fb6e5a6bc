// SPDX-License-Identifier: Apache-2.0
#include "vcap/base/error.hpp"

#include <utility>

namespace vcap {

std::string_view to_string(ErrorCode code) noexcept {
  // No default, so that the compiler reports a missing code.
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::type_mismatch:
      return "type_mismatch";
    case ErrorCode::invalid_node:
      return "invalid_node";
    case ErrorCode::invalid_json:
      return "invalid_json";
    case ErrorCode::invalid_config:
      return "invalid_config";
    case ErrorCode::empty_crop:
      return "empty_crop";
    case ErrorCode::unknown_option:
      return "unknown_option";
    case ErrorCode::option_type:
      return "option_type";
    case ErrorCode::option_range:
      return "option_range";
    case ErrorCode::invalid_option_declaration:
      return "invalid_option_declaration";
    case ErrorCode::batch_result_count:
      return "batch_result_count";
    case ErrorCode::queue_full:
      return "queue_full";
    case ErrorCode::deadline_exceeded:
      return "deadline_exceeded";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::closed:
      return "closed";
    case ErrorCode::reentrant_submit:
      return "reentrant_submit";
    case ErrorCode::no_device:
      return "no_device";
    case ErrorCode::unknown_device:
      return "unknown_device";
    case ErrorCode::capsule_not_found:
      return "capsule_not_found";
    case ErrorCode::not_an_archive:
      return "not_an_archive";
    case ErrorCode::limit_exceeded:
      return "limit_exceeded";
    case ErrorCode::unsafe_entry:
      return "unsafe_entry";
    case ErrorCode::no_manifest:
      return "no_manifest";
    case ErrorCode::invalid_manifest:
      return "invalid_manifest";
    case ErrorCode::digest_mismatch:
      return "digest_mismatch";
    case ErrorCode::missing_entry:
      return "missing_entry";
    case ErrorCode::invalid_library:
      return "invalid_library";
    case ErrorCode::no_entry_symbol:
      return "no_entry_symbol";
    case ErrorCode::invalid_capsule_info:
      return "invalid_capsule_info";
    case ErrorCode::unlisted_entry:
      return "unlisted_entry";
    case ErrorCode::ambiguous_archive:
      return "ambiguous_archive";
    case ErrorCode::unsupported_entry:
      return "unsupported_entry";
    case ErrorCode::damaged_entry:
      return "damaged_entry";
    case ErrorCode::unsafe_library:
      return "unsafe_library";
    case ErrorCode::missing_dependency:
      return "missing_dependency";
    case ErrorCode::capsule_changed:
      return "capsule_changed";
    case ErrorCode::unsigned_capsule:
      return "unsigned_capsule";
    case ErrorCode::bad_signature:
      return "bad_signature";
    case ErrorCode::unknown_key:
      return "unknown_key";
    case ErrorCode::revoked_key:
      return "revoked_key";
    case ErrorCode::version_rollback:
      return "version_rollback";
    case ErrorCode::encrypted_capsule:
      return "encrypted_capsule";
    case ErrorCode::wrong_key:
      return "wrong_key";
    case ErrorCode::damaged_encryption:
      return "damaged_encryption";
    case ErrorCode::invalid_key:
      return "invalid_key";
    case ErrorCode::unsupported_platform:
      return "unsupported_platform";
    case ErrorCode::unsupported_api_version:
      return "unsupported_api_version";
    case ErrorCode::abi_mismatch:
      return "abi_mismatch";
    case ErrorCode::unsupported_format_version:
      return "unsupported_format_version";
    case ErrorCode::capsule_threw:
      return "capsule_threw";
    case ErrorCode::backend_load_failed:
      return "backend_load_failed";
    case ErrorCode::no_backend:
      return "no_backend";
    case ErrorCode::misbehaving_capsule:
      return "misbehaving_capsule";
    case ErrorCode::invalid_output:
      return "invalid_output";
    case ErrorCode::resource_unavailable:
      return "resource_unavailable";
    case ErrorCode::resource_mismatch:
      return "resource_mismatch";
    case ErrorCode::resource_offline:
      return "resource_offline";
    case ErrorCode::resource_cache:
      return "resource_cache";
    case ErrorCode::unsatisfied_input:
      return "unsatisfied_input";
    case ErrorCode::plan_cycle:
      return "plan_cycle";
    case ErrorCode::duplicate_capsule:
      return "duplicate_capsule";
    case ErrorCode::duplicate_picture:
      return "duplicate_picture";
    case ErrorCode::stencil_edge:
      return "stencil_edge";
    case ErrorCode::source_open:
      return "source_open";
    case ErrorCode::source_read:
      return "source_read";
    case ErrorCode::source_empty:
      return "source_empty";
    case ErrorCode::duplicate_stream:
      return "duplicate_stream";
    case ErrorCode::unknown_stream:
      return "unknown_stream";
    case ErrorCode::source_not_as_indexed:
      return "source_not_as_indexed";
    case ErrorCode::output_open:
      return "output_open";
    case ErrorCode::output_write:
      return "output_write";
    case ErrorCode::engine_missing:
      return "engine_missing";
    case ErrorCode::unreadable_model:
      return "unreadable_model";
    case ErrorCode::unsupported_model:
      return "unsupported_model";
    case ErrorCode::model_input:
      return "model_input";
    case ErrorCode::model_output:
      return "model_output";
    case ErrorCode::inference_failed:
      return "inference_failed";
    case ErrorCode::invalid_model_spec:
      return "invalid_model_spec";
    case ErrorCode::broker_unreachable:
      return "broker_unreachable";
    case ErrorCode::broker_refused:
      return "broker_refused";
    case ErrorCode::broker_unfit:
      return "broker_unfit";
    case ErrorCode::invalid_message:
      return "invalid_message";
    case ErrorCode::object_missing:
      return "object_missing";
  }
  return "unknown";
}

std::string_view to_string(LoadStage stage) noexcept {
  switch (stage) {
    case LoadStage::open:
      return "open";
    case LoadStage::trust:
      return "trust";
    case LoadStage::decryption:
      return "decryption";
    case LoadStage::archive:
      return "archive";
    case LoadStage::manifest:
      return "manifest";
    case LoadStage::digests:
      return "digests";
    case LoadStage::platform:
      return "platform";
    case LoadStage::resources:
      return "resources";
    case LoadStage::library:
      return "library";
    case LoadStage::entry:
      return "entry";
    case LoadStage::description:
      return "description";
    case LoadStage::devices:
      return "devices";
    case LoadStage::backends:
      return "backends";
  }
  return "unknown";
}

Error::Error(ErrorCode code, const std::string& message)
    : std::runtime_error(message), code_(code) {}

CapsuleLoadError::CapsuleLoadError(ErrorCode code, const std::string& message, std::string entry)
    : Error(code, message), entry_(std::make_shared<const std::string>(std::move(entry))) {}

TypeMismatch::TypeMismatch(const std::string& message) : Error(ErrorCode::type_mismatch, message) {}

// Out of line, so that each type's RTTI is only in this library and exceptions can be caught across
// dlopen.
Error::~Error() = default;
InvalidArgument::~InvalidArgument() = default;
TypeMismatch::~TypeMismatch() = default;
OptionError::~OptionError() = default;
BatchError::~BatchError() = default;
DeviceError::~DeviceError() = default;
CapsuleLoadError::~CapsuleLoadError() = default;
InvalidCapsuleError::~InvalidCapsuleError() = default;
IncompatibleCapsuleError::~IncompatibleCapsuleError() = default;
UntrustedCapsuleError::~UntrustedCapsuleError() = default;
ResourceError::~ResourceError() = default;
PlanError::~PlanError() = default;
EngineError::~EngineError() = default;
SourceError::~SourceError() = default;
ClusterError::~ClusterError() = default;
OutputError::~OutputError() = default;

}  // namespace vcap
