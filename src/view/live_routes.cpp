// SPDX-License-Identifier: Apache-2.0
#include "view/live_routes.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "files/strict_json.hpp"
#include "files/url.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/version.hpp"

namespace vcap {
namespace {

/// "putoption" of PUT /api/v1/option.
std::string operation_of(const LiveRoute& route) {
  std::string id = route.method + route.path.substr(route.path.rfind('/') + 1);
  std::ranges::transform(id, id.begin(), [](unsigned char c) {
    return static_cast<char>(c == '.' ? '_' : c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return id;
}

nlohmann::json parameter_json(const LiveRoute::Parameter& parameter) {
  nlohmann::json schema{{"type", "string"}};
  if (parameter.is_list) schema = {{"type", "array"}, {"items", std::exchange(schema, {})}};
  return {{"name", parameter.name},
          {"in", "query"},
          {"required", parameter.required},
          {"description", parameter.about},
          {"schema", std::move(schema)}};
}

nlohmann::json operation_json(const LiveRoute& route) {
  nlohmann::json operation{{"operationId", operation_of(route)}, {"summary", route.about}};
  operation["parameters"] = nlohmann::json::array();
  for (const LiveRoute::Parameter& parameter : route.parameters)
    operation["parameters"].push_back(parameter_json(parameter));
  if (route.changes())
    operation["parameters"].push_back({{"name", "X-Vcap"},
                                       {"in", "header"},
                                       {"required", true},
                                       {"description", "Any value; other sites cannot send it"},
                                       {"schema", {{"type", "string"}}}});
  if (!route.body.empty()) {
    const char* const type = route.in_file ? "application/octet-stream" : "application/json";
    operation["requestBody"] = {{"required", true},
                                {"description", route.body},
                                {"content", {{type, nlohmann::json::object()}}}};
  }
  nlohmann::json& responses = operation["responses"];
  const nlohmann::json content{{route.gives, nlohmann::json::object()}};
  responses[route.method == "POST" && route.path.ends_with("streams") ? "201" : "200"] = {
      {"description", "Done"}, {"content", content}};
  responses["default"] = {
      {"description", "Refused or failed"},
      {"content",
       {{"application/json", {{"schema", {{"$ref", "#/components/schemas/Failure"}}}}}}}};
  if (route.role) {
    operation["security"] = {{{"token", nlohmann::json::array()}}};
    operation["x-role"] = to_string(*route.role);
  }
  return operation;
}

unsigned status_of_error(const Error& error) {
  switch (error.code()) {
    case ErrorCode::unknown_stream:
      return 404;
    case ErrorCode::duplicate_stream:
      return 409;
    case ErrorCode::output_open:
    case ErrorCode::output_write:
      return 500;
    default:
      return 422;
  }
}

nlohmann::json failure_json(const std::string& code, const std::string& message) {
  return {{"error", {{"code", code}, {"message", without_passwords(message)}}}};
}

/// The place of byte `at`, both from 1.
std::pair<std::size_t, std::size_t> line_and_column(const std::string& text, std::size_t at) {
  const std::string before = text.substr(0, std::min(at, text.size()));
  const std::size_t last = before.rfind('\n');
  return {static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1,
          before.size() - (last == std::string::npos ? 0 : last + 1) + 1};
}

}  // namespace

std::vector<std::string> LiveCall::arguments(const std::string& name) const {
  std::vector<std::string> values;
  const auto [begin, end] = request.arguments.equal_range(name);
  for (auto found = begin; found != end; ++found) values.push_back(found->second);
  return values;
}

double LiveCall::number(const std::string& name, double absent, double least,
                        double greatest) const {
  if (!has(name)) return absent;
  const std::string text = argument(name);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(value >= least && value <= greatest))
    throw LiveRefusal(400, "the parameter " + quote(name) + " is " + quote(text) +
                               "; give a number from " + number_text(least) + " to " +
                               number_text(greatest));
  return value;
}

nlohmann::json LiveCall::body() const {
  try {
    return parse_strictly(request.body);
  } catch (const InvalidArgument& error) {
    // For the place; what parse_strictly() refuses beyond the grammar has a JSON pointer.
    try {
      const nlohmann::json rest = nlohmann::json::parse(request.body);
      static_cast<void>(rest);
    } catch (const nlohmann::json::parse_error& fault) {
      const auto [line, column] =
          line_and_column(request.body, fault.byte > 0 ? fault.byte - 1 : 0);
      throw LiveRefusal(422,
                        "line " + std::to_string(line) + ", column " + std::to_string(column) +
                            ": " + error.what(),
                        "invalid_json");
    } catch (const nlohmann::json::exception&) {
      throw LiveRefusal(422, error.what(), "invalid_json");
    }
    throw LiveRefusal(422, error.what(), "invalid_json");
  }
}

nlohmann::json openapi(const std::vector<LiveRoute>& routes) {
  nlohmann::json document{
      {"openapi", "3.0.3"},
      {"info",
       {{"title", "vcap live view"},
        {"version", std::string(version())},
        {"description",
         "Streams of a running pipeline: pictures, statistics, and changes. Roles: viewer, "
         "operator, admin; each includes the ones before it (x-role)."}}}};
  for (const LiveRoute& route : routes) {
    std::string method = route.method;
    std::ranges::transform(method, method.begin(),
                           [](unsigned char c) { return static_cast<char>(c - 'A' + 'a'); });
    document["paths"][route.path][method] = operation_json(route);
  }
  document["components"]["securitySchemes"]["token"] = {{"type", "http"}, {"scheme", "bearer"}};
  document["components"]["schemas"]["Failure"] = {
      {"type", "object"},
      {"properties",
       {{"error",
         {{"type", "object"},
          {"properties", {{"code", {{"type", "string"}}}, {"message", {{"type", "string"}}}}}}}}}};
  return document;
}

HttpAnswer answer_of_json(const nlohmann::json& json, unsigned status) {
  return {.status = status,
          .text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
          .type = "application/json"};
}

HttpAnswer answer_of_failure(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const LiveRefusal& refusal) {
    return answer_of_json(failure_json(refusal.code(), refusal.what()), refusal.status());
  } catch (const Error& error) {
    return answer_of_json(failure_json(std::string(to_string(error.code())), error.what()),
                          status_of_error(error));
  } catch (...) {
    return answer_of_json(failure_json("exception", exception_text(thrown)), 500);
  }
}

}  // namespace vcap
