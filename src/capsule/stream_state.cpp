// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/stream_state.hpp"

#include <cxxabi.h>

#include <cstdlib>

#include <nlohmann/json.hpp>

#include "vcap/base/error.hpp"
#include "vcap/capsule/stream_parameters.hpp"

namespace vcap {
namespace {

/// As in the source, such as "(anonymous namespace)::Tracks".
std::string source_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  return name ? name.get() : type.name();
}

}  // namespace

// Defined here, so that the type information is in the library, shared by host and capsules.
BaseStreamState::~BaseStreamState() = default;
nlohmann::json BaseStreamState::save() const { return {}; }
BaseStreamParameters::~BaseStreamParameters() = default;

void detail::refuse_state(const BaseStreamState& state, const std::type_info& wanted) {
  const std::string type = source_name(wanted);
  const std::string remedy =
      "; set .stream_state = vcap::make_stream_state<" + type + ">() in the capsule's info()";
  if (typeid(state) == typeid(BaseStreamState))
    throw TypeMismatch("the capsule has no stream state, but its backend asks for one of type " +
                       type + remedy);
  throw TypeMismatch("the capsule's stream state is of type " + source_name(typeid(state)) +
                     ", but its backend asks for one of type " + type + remedy);
}

void detail::refuse_parameters(const BaseStreamState& given, const std::type_info& wanted) {
  const std::string type = source_name(wanted);
  const std::string asks = ", but its backend asks for stream parameters of type " + type;
  const std::string remedy = "; set .stream_parameters = vcap::make_stream_parameters<" + type +
                             ">() in the capsule's info()";
  if (typeid(given) == typeid(BaseStreamState))
    throw TypeMismatch("the capsule has no stream parameters" + asks + remedy);
  if (dynamic_cast<const BaseStreamParameters*>(&given) == nullptr)
    throw TypeMismatch("the capsule has a stream state, of type " + source_name(typeid(given)) +
                       asks + "; read the config in the state's constructor");
  throw TypeMismatch("the capsule's stream parameters are of type " + source_name(typeid(given)) +
                     asks + remedy);
}

}  // namespace vcap
