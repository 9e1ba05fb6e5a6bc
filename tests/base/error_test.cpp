// SPDX-License-Identifier: Apache-2.0
#include "vcap/base/error.hpp"

#include <gmock/gmock.h>

#include <set>
#include <type_traits>

namespace vcap {
namespace {

struct Code {
  ErrorCode code;
  int number;
  const char* name;
};

// Written by hand and not derived: hosts store these numbers and names, so a change must show here.
constexpr Code kCodes[] = {
    {ErrorCode::invalid_argument, 100, "invalid_argument"},
    {ErrorCode::type_mismatch, 101, "type_mismatch"},
    {ErrorCode::invalid_node, 102, "invalid_node"},
    {ErrorCode::invalid_json, 103, "invalid_json"},
    {ErrorCode::invalid_config, 104, "invalid_config"},
    {ErrorCode::empty_crop, 110, "empty_crop"},
    {ErrorCode::unknown_option, 120, "unknown_option"},
    {ErrorCode::option_type, 121, "option_type"},
    {ErrorCode::option_range, 122, "option_range"},
    {ErrorCode::invalid_option_declaration, 123, "invalid_option_declaration"},
    {ErrorCode::batch_result_count, 200, "batch_result_count"},
    {ErrorCode::queue_full, 201, "queue_full"},
    {ErrorCode::deadline_exceeded, 202, "deadline_exceeded"},
    {ErrorCode::cancelled, 203, "cancelled"},
    {ErrorCode::closed, 204, "closed"},
    {ErrorCode::reentrant_submit, 205, "reentrant_submit"},
    {ErrorCode::no_device, 300, "no_device"},
    {ErrorCode::unknown_device, 301, "unknown_device"},
    {ErrorCode::capsule_not_found, 400, "capsule_not_found"},
    {ErrorCode::not_an_archive, 401, "not_an_archive"},
    {ErrorCode::limit_exceeded, 402, "limit_exceeded"},
    {ErrorCode::unsafe_entry, 403, "unsafe_entry"},
    {ErrorCode::no_manifest, 404, "no_manifest"},
    {ErrorCode::invalid_manifest, 405, "invalid_manifest"},
    {ErrorCode::digest_mismatch, 406, "digest_mismatch"},
    {ErrorCode::missing_entry, 407, "missing_entry"},
    {ErrorCode::invalid_library, 408, "invalid_library"},
    {ErrorCode::no_entry_symbol, 409, "no_entry_symbol"},
    {ErrorCode::invalid_capsule_info, 410, "invalid_capsule_info"},
    {ErrorCode::unlisted_entry, 411, "unlisted_entry"},
    {ErrorCode::ambiguous_archive, 412, "ambiguous_archive"},
    {ErrorCode::unsupported_entry, 413, "unsupported_entry"},
    {ErrorCode::damaged_entry, 414, "damaged_entry"},
    {ErrorCode::unsafe_library, 415, "unsafe_library"},
    {ErrorCode::missing_dependency, 416, "missing_dependency"},
    {ErrorCode::capsule_changed, 417, "capsule_changed"},
    {ErrorCode::unsigned_capsule, 420, "unsigned_capsule"},
    {ErrorCode::bad_signature, 421, "bad_signature"},
    {ErrorCode::unknown_key, 422, "unknown_key"},
    {ErrorCode::revoked_key, 423, "revoked_key"},
    {ErrorCode::version_rollback, 424, "version_rollback"},
    {ErrorCode::encrypted_capsule, 425, "encrypted_capsule"},
    {ErrorCode::wrong_key, 426, "wrong_key"},
    {ErrorCode::damaged_encryption, 427, "damaged_encryption"},
    {ErrorCode::invalid_key, 428, "invalid_key"},
    {ErrorCode::unsupported_platform, 430, "unsupported_platform"},
    {ErrorCode::unsupported_api_version, 431, "unsupported_api_version"},
    {ErrorCode::abi_mismatch, 432, "abi_mismatch"},
    {ErrorCode::unsupported_format_version, 433, "unsupported_format_version"},
    {ErrorCode::capsule_threw, 450, "capsule_threw"},
    {ErrorCode::backend_load_failed, 451, "backend_load_failed"},
    {ErrorCode::no_backend, 452, "no_backend"},
    {ErrorCode::misbehaving_capsule, 453, "misbehaving_capsule"},
    {ErrorCode::invalid_output, 454, "invalid_output"},
    {ErrorCode::resource_unavailable, 460, "resource_unavailable"},
    {ErrorCode::resource_mismatch, 461, "resource_mismatch"},
    {ErrorCode::resource_offline, 462, "resource_offline"},
    {ErrorCode::resource_cache, 463, "resource_cache"},
    {ErrorCode::unsatisfied_input, 500, "unsatisfied_input"},
    {ErrorCode::plan_cycle, 501, "plan_cycle"},
    {ErrorCode::duplicate_capsule, 502, "duplicate_capsule"},
    {ErrorCode::duplicate_picture, 503, "duplicate_picture"},
    {ErrorCode::stencil_edge, 510, "stencil_edge"},
    {ErrorCode::source_open, 600, "source_open"},
    {ErrorCode::source_read, 601, "source_read"},
    {ErrorCode::source_empty, 602, "source_empty"},
    {ErrorCode::duplicate_stream, 603, "duplicate_stream"},
    {ErrorCode::unknown_stream, 604, "unknown_stream"},
    {ErrorCode::source_not_as_indexed, 605, "source_not_as_indexed"},
    {ErrorCode::output_open, 700, "output_open"},
    {ErrorCode::output_write, 701, "output_write"},
    {ErrorCode::engine_missing, 800, "engine_missing"},
    {ErrorCode::unreadable_model, 801, "unreadable_model"},
    {ErrorCode::unsupported_model, 802, "unsupported_model"},
    {ErrorCode::model_input, 803, "model_input"},
    {ErrorCode::model_output, 804, "model_output"},
    {ErrorCode::inference_failed, 805, "inference_failed"},
    {ErrorCode::invalid_model_spec, 806, "invalid_model_spec"},
    {ErrorCode::broker_unreachable, 900, "broker_unreachable"},
    {ErrorCode::broker_refused, 901, "broker_refused"},
    {ErrorCode::broker_unfit, 902, "broker_unfit"},
    {ErrorCode::invalid_message, 903, "invalid_message"},
    {ErrorCode::object_missing, 904, "object_missing"},
};

TEST(ErrorCode, KeepsItsNumberAndName) {
  for (const Code& expected : kCodes) {
    EXPECT_EQ(static_cast<int>(expected.code), expected.number) << expected.name;
    EXPECT_EQ(to_string(expected.code), expected.name) << expected.number;
  }
}

TEST(ErrorCode, HasNoNameForANumberThatIsNotListed) {
  std::set<int> listed;
  for (const Code& code : kCodes) listed.insert(code.number);
  for (int number = 0; number < 1000; ++number) {
    const bool named = to_string(static_cast<ErrorCode>(number)) != "unknown";
    EXPECT_EQ(named, listed.contains(number)) << number;
  }
}

TEST(Error, CarriesItsCodeAndMessage) {
  const SourceError error(ErrorCode::source_open, "cannot open shots/");
  EXPECT_EQ(error.code(), ErrorCode::source_open);
  EXPECT_STREQ(error.what(), "cannot open shots/");
}

TEST(Error, KeepsCodeAndMessageWhenCaughtAsBaseClass) {
  try {
    throw InvalidCapsuleError(ErrorCode::missing_entry, "model.onnx is missing");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::missing_entry);
    EXPECT_STREQ(error.what(), "model.onnx is missing");
  }
}

TEST(Error, GivesATypeMismatchItsOwnCode) {
  EXPECT_EQ(TypeMismatch("a list, not a single node").code(), ErrorCode::type_mismatch);
}

TEST(Error, IsTheBaseOfAllErrorTypes) {
  static_assert(std::is_base_of_v<std::runtime_error, Error>);
  static_assert(std::is_base_of_v<Error, InvalidArgument>);
  static_assert(std::is_base_of_v<Error, TypeMismatch>);
  static_assert(std::is_base_of_v<Error, OptionError>);
  static_assert(std::is_base_of_v<Error, BatchError>);
  static_assert(std::is_base_of_v<Error, DeviceError>);
  static_assert(std::is_base_of_v<Error, CapsuleLoadError>);
  static_assert(std::is_base_of_v<CapsuleLoadError, InvalidCapsuleError>);
  static_assert(std::is_base_of_v<CapsuleLoadError, IncompatibleCapsuleError>);
  static_assert(!std::is_base_of_v<InvalidCapsuleError, IncompatibleCapsuleError>);
  static_assert(std::is_base_of_v<Error, PlanError>);
  static_assert(std::is_base_of_v<Error, SourceError>);
  static_assert(std::is_base_of_v<Error, OutputError>);
  static_assert(std::is_base_of_v<Error, ClusterError>);
}

}  // namespace
}  // namespace vcap
