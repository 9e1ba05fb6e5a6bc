// SPDX-License-Identifier: Apache-2.0
#include "isolation/wire_exception.hpp"

#include <array>
#include <concepts>
#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <opencv2/core.hpp>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// A std::exception of a type that only one side knows.
class OtherException final : public std::exception {
 public:
  explicit OtherException(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

/// A std::bad_alloc with the text of the other side's, such as std::bad_array_new_length.
class MemoryError final : public std::bad_alloc {
 public:
  explicit MemoryError(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

/// Thrown in place of what is no std::exception.
struct ThrownObject {};

template <class... Types>
struct ListOf {};

/// A message has the place in this list: derived types come first.
using Known =
    ListOf<InvalidCapsuleError, IncompatibleCapsuleError, UntrustedCapsuleError, ResourceError,
           CapsuleLoadError, InvalidArgument, TypeMismatch, OptionError, BatchError, DeviceError,
           PlanError, EngineError, SourceError, ClusterError, OutputError, Error, cv::Exception,
           std::bad_alloc, std::invalid_argument, std::domain_error, std::length_error,
           std::out_of_range, std::logic_error, std::range_error, std::overflow_error,
           std::underflow_error, std::runtime_error, std::exception, ThrownObject>;

bool is_known(ErrorCode code) noexcept { return to_string(code) != "unknown"; }

/// The error's own, or capsule_threw for a number that an author has made up.
ErrorCode code_of(const Error& error) noexcept {
  return is_known(error.code()) ? error.code() : ErrorCode::capsule_threw;
}

ErrorCode checked_code(const WireReader& wire, std::int32_t number) {
  const auto code = static_cast<ErrorCode>(number);
  if (!is_known(code)) wire.refuse("has an error of an unknown code");
  return code;
}

/// What an exception of each type has, and how it is thrown.
template <class Type>
struct Fields {
  static void write(WireWriter& wire, const std::exception& thrown) {
    wire(std::string_view(thrown.what()));
  }
  [[noreturn]] static void raise(WireReader& wire) {
    std::string text;
    wire(text);
    wire.end();
    if constexpr (std::same_as<Type, std::exception>)
      throw OtherException(std::move(text));
    else if constexpr (std::same_as<Type, ThrownObject>)
      throw ThrownObject{};
    else if constexpr (std::same_as<Type, std::bad_alloc>)
      throw MemoryError(std::move(text));
    else
      throw Type(text);
  }
};

template <std::derived_from<Error> Type>
struct Fields<Type> {
  static void write(WireWriter& wire, const Error& thrown) {
    wire(std::string_view(thrown.what()), static_cast<std::int32_t>(code_of(thrown)));
    if constexpr (std::derived_from<Type, CapsuleLoadError>) {
      const auto& failed = static_cast<const CapsuleLoadError&>(thrown);
      wire(failed.entry(), failed.stage().has_value());
      wire.choice(failed.stage().value_or(LoadStage::open), LoadStage::backends);
    }
  }
  [[noreturn]] static void raise(WireReader& wire) {
    std::string text;
    std::int32_t number = 0;
    wire(text, number);
    const ErrorCode code = checked_code(wire, number);
    if constexpr (std::derived_from<Type, CapsuleLoadError>) {
      std::string entry;
      bool has_stage = false;
      LoadStage stage{};
      wire(entry, has_stage);
      wire.choice(stage, LoadStage::backends);
      wire.end();
      Type error(code, text, std::move(entry));
      if (has_stage) error.note_stage(stage);
      throw error;
    } else if constexpr (std::same_as<Type, TypeMismatch>) {
      wire.end();
      throw TypeMismatch(text);
    } else {
      wire.end();
      throw Type(code, text);
    }
  }
};

template <>
struct Fields<cv::Exception> {
  static void write(WireWriter& wire, const cv::Exception& thrown) {
    wire(std::string_view(thrown.msg), thrown.code, std::string_view(thrown.err),
         std::string_view(thrown.func), std::string_view(thrown.file), thrown.line);
  }
  [[noreturn]] static void raise(WireReader& wire) {
    std::string text, err, function, file;
    int code = 0;
    int line = 0;
    wire(text, code, err, function, file, line);
    wire.end();
    cv::Exception error(code, err, function, file, line);
    error.msg = text;
    throw error;
  }
};

template <class Type>
bool write_if(WireWriter& wire, std::uint8_t place, const std::exception& thrown) {
  const auto* const one = dynamic_cast<const Type*>(&thrown);
  if (one == nullptr) return false;
  wire(place);
  Fields<Type>::write(wire, *one);
  return true;
}

template <class... Types>
void write_thrown(WireWriter& wire, const std::exception& thrown, ListOf<Types...>) {
  std::uint8_t place = 0;
  const auto write_one = [&]<class Type>(std::type_identity<Type>) {
    if constexpr (std::derived_from<Type, std::exception>)
      return write_if<Type>(wire, place++, thrown);
    else
      return true;
  };
  static_cast<void>((write_one(std::type_identity<Types>()) || ...));
}

template <class... Types>
[[noreturn]] void raise(WireReader& wire, std::uint8_t place, ListOf<Types...>) {
  using Raise = void (*)(WireReader&);
  constexpr std::array<Raise, sizeof...(Types)> raises{&Fields<Types>::raise...};
  if (place < raises.size()) raises[place](wire);
  wire.refuse("has an exception of an unknown type");
}

template <class... Types>
constexpr std::uint8_t last_of(ListOf<Types...>) {
  return sizeof...(Types) - 1;
}

}  // namespace

void write_exception(WireWriter& wire, const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    write_thrown(wire, error, Known());
  } catch (...) {
    wire(last_of(Known()), std::string_view());  // ThrownObject
  }
}

void throw_exception(WireReader& wire) {
  std::uint8_t place = 0;
  wire(place);
  raise(wire, place, Known());
}

}  // namespace vcap
