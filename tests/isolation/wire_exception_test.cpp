// SPDX-License-Identifier: Apache-2.0
#include "isolation/wire_exception.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <typeinfo>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "base/text.hpp"
#include "isolation/wire_examples.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using testing::HasSubstr;

/// What arrives if it is sent.
std::exception_ptr sent_exception(const std::exception_ptr& thrown) {
  WireWriter writer;
  write_exception(writer, thrown);
  const WireMessage message = std::move(writer).take();
  try {
    WireReader reader(message, "capsule people");
    throw_exception(reader);
  } catch (...) {
    return std::current_exception();
  }
}

/// The same as the type that is expected; the test fails if it is another.
template <class Type, class Thrown>
Type arrived_as(const Thrown& thrown) {
  try {
    std::rethrow_exception(sent_exception(std::make_exception_ptr(thrown)));
  } catch (const Type& arrived) {
    EXPECT_EQ(typeid(arrived), typeid(Type)) << thrown.what();
    EXPECT_STREQ(arrived.what(), thrown.what());
    return arrived;
  }
}

template <class Type>
void expect_error_kept(ErrorCode code) {
  const Type arrived = arrived_as<Type>(Type(code, "what went wrong"));
  EXPECT_EQ(arrived.code(), code);
}

template <class Type>
void expect_load_error_kept(ErrorCode code) {
  Type thrown(code, "what went wrong", "lib/a.so");
  EXPECT_EQ(arrived_as<Type>(thrown).stage(), std::nullopt);
  thrown.note_stage(LoadStage::backends);
  const Type arrived = arrived_as<Type>(thrown);
  EXPECT_EQ(arrived.code(), code);
  EXPECT_EQ(arrived.entry(), "lib/a.so");
  EXPECT_EQ(arrived.stage(), LoadStage::backends);
}

TEST(WireException, KeepsTypeTextAndCodeOfErrors) {
  expect_error_kept<Error>(ErrorCode::capsule_threw);
  expect_error_kept<InvalidArgument>(ErrorCode::invalid_json);
  expect_error_kept<OptionError>(ErrorCode::option_range);
  expect_error_kept<BatchError>(ErrorCode::queue_full);
  expect_error_kept<DeviceError>(ErrorCode::no_device);
  expect_error_kept<PlanError>(ErrorCode::plan_cycle);
  expect_error_kept<EngineError>(ErrorCode::model_output);
  expect_error_kept<SourceError>(ErrorCode::source_open);
  expect_error_kept<ClusterError>(ErrorCode::object_missing);
  expect_error_kept<OutputError>(ErrorCode::output_write);
  EXPECT_EQ(arrived_as<TypeMismatch>(TypeMismatch("not so")).code(), ErrorCode::type_mismatch);
  expect_load_error_kept<CapsuleLoadError>(ErrorCode::backend_load_failed);
  expect_load_error_kept<InvalidCapsuleError>(ErrorCode::invalid_manifest);
  expect_load_error_kept<IncompatibleCapsuleError>(ErrorCode::abi_mismatch);
  expect_load_error_kept<UntrustedCapsuleError>(ErrorCode::bad_signature);
  expect_load_error_kept<ResourceError>(ErrorCode::resource_offline);
}

TEST(WireException, KeepsThoseOfTheStandardLibraryAndOfOpenCv) {
  arrived_as<std::logic_error>(std::logic_error("a"));
  arrived_as<std::invalid_argument>(std::invalid_argument("a"));
  arrived_as<std::domain_error>(std::domain_error("a"));
  arrived_as<std::length_error>(std::length_error("a"));
  arrived_as<std::out_of_range>(std::out_of_range("a"));
  arrived_as<std::runtime_error>(std::runtime_error("a"));
  arrived_as<std::range_error>(std::range_error("a"));
  arrived_as<std::overflow_error>(std::overflow_error("a"));
  arrived_as<std::underflow_error>(std::underflow_error("a"));
  const cv::Exception thrown(cv::Error::StsBadSize, "bad size", "resize", "a.cpp", 7);
  const cv::Exception arrived = arrived_as<cv::Exception>(thrown);
  EXPECT_EQ(arrived.code, cv::Error::StsBadSize);
  EXPECT_EQ(arrived.err, "bad size");
  EXPECT_EQ(arrived.func, "resize");
  EXPECT_EQ(arrived.file, "a.cpp");
  EXPECT_EQ(arrived.line, 7);
}

struct AuthorsError final : std::out_of_range {
  using std::out_of_range::out_of_range;
};
struct AuthorsOwn final : std::exception {
  const char* what() const noexcept override { return "of its own"; }
};

TEST(WireException, GivesOthersAsTheNearestTypeThatBothSidesKnow) {
  EXPECT_THROW(std::rethrow_exception(sent_exception(std::make_exception_ptr(AuthorsError("a")))),
               std::out_of_range);
  const auto text = [](auto thrown) {
    return exception_text(sent_exception(std::make_exception_ptr(std::move(thrown))));
  };
  EXPECT_EQ(text(AuthorsError("its text")), "its text");
  EXPECT_EQ(text(AuthorsOwn()), "of its own");
  EXPECT_EQ(text(std::bad_array_new_length()), std::bad_array_new_length().what());
  EXPECT_THROW(
      std::rethrow_exception(sent_exception(std::make_exception_ptr(std::bad_array_new_length()))),
      std::bad_alloc);
  EXPECT_EQ(text(7), exception_text(std::make_exception_ptr(7)));
  const std::filesystem::filesystem_error missing("no", "/a",
                                                  std::error_code(2, std::system_category()));
  EXPECT_EQ(text(missing), missing.what());
  const auto fault = nlohmann::json::other_error::create(501, "its text", nullptr);
  EXPECT_EQ(text(fault), fault.what());
}

TEST(WireException, GivesACodeOfTheAuthorsOwnAsOneOfTheCapsule) {
  const Error own(static_cast<ErrorCode>(77), "a code that vcap does not have");
  EXPECT_EQ(arrived_as<Error>(own).code(), ErrorCode::capsule_threw);
}

TEST(WireException, KeepsTextsOfAnyLength) {
  const std::string text(5'000'000, 'x');
  EXPECT_EQ(arrived_as<std::runtime_error>(std::runtime_error(text)).what(), text);
}

TEST(WireException, RefusesWhatIsNone) {
  const auto read = [](const WireMessage& message) {
    WireReader reader(message, "capsule people");
    throw_exception(reader);
  };
  const auto refuses = [](const char* text) {
    return ThrowsError<Error>(ErrorCode::misbehaving_capsule, HasSubstr(text));
  };
  EXPECT_THAT([&] { read(test::message_of(std::uint8_t{200}, std::string())); },
              refuses("an exception of an unknown type"));
  EXPECT_THAT([&] { read(test::message_of(std::uint8_t{0}, std::string(), std::int32_t{7})); },
              refuses("an error of an unknown code"));
  EXPECT_THAT([&] { read(test::message_of(std::uint8_t{28}, std::string(), true)); },
              refuses("more than belongs to it"));
}

}  // namespace
}  // namespace vcap
