// SPDX-License-Identifier: Apache-2.0
#include "isolation/wire.hpp"

#include <limits>

namespace vcap {
namespace {

using Json = nlohmann::json;

/// The types of JSON's values in a message.
enum class JsonType : std::uint8_t {
  null,
  no,
  yes,
  integer,
  natural,
  real,
  text,
  list,
  object,
  binary,
  discarded,
};

}  // namespace

WireMessage WireWriter::take(ErrorCode too_large) && {
  const std::size_t bytes = message_.bytes.size();
  const std::size_t pictures = message_.pictures.size();
  if (bytes <= kMostWireBytes && pictures <= kMostWirePictures) return std::move(message_);
  const std::string text = "a call of a capsule, or its result, has " + std::to_string(bytes) +
                           " bytes beside its pixels, and " + std::to_string(pictures) +
                           " pictures; " + std::to_string(kMostWireBytes) + " bytes and " +
                           std::to_string(kMostWirePictures) +
                           " pictures are allowed if its code runs elsewhere: give less";
  if (too_large == ErrorCode::invalid_argument) throw InvalidArgument(too_large, text);
  throw Error(too_large, text);
}

void WireWriter::count(std::size_t elements) {
  if (elements > std::numeric_limits<std::uint32_t>::max())
    throw InvalidArgument(
        ErrorCode::invalid_argument,
        std::to_string(elements) +
            " elements or bytes cannot be given to a capsule at once; give fewer");
  write(static_cast<std::uint32_t>(elements));
}

void WireWriter::write(const Json& value, std::size_t level) {
  const auto type = [this](JsonType one) { write(static_cast<std::uint8_t>(one)); };
  if (value.is_structured() && level > kMostWireLevels) return type(JsonType::null);
  switch (value.type()) {
    case Json::value_t::null:
      return type(JsonType::null);
    case Json::value_t::boolean:
      return type(value.get<bool>() ? JsonType::yes : JsonType::no);
    case Json::value_t::number_integer:
      type(JsonType::integer);
      return write(*value.get_ptr<const Json::number_integer_t*>());
    case Json::value_t::number_unsigned:
      type(JsonType::natural);
      return write(*value.get_ptr<const Json::number_unsigned_t*>());
    case Json::value_t::number_float:
      type(JsonType::real);
      return write(*value.get_ptr<const Json::number_float_t*>());
    case Json::value_t::string:
      type(JsonType::text);
      return write(*value.get_ptr<const Json::string_t*>());
    case Json::value_t::array:
      type(JsonType::list);
      count(value.size());
      for (const Json& element : value) write(element, level + 1);
      return;
    case Json::value_t::object:
      type(JsonType::object);
      count(value.size());
      for (const auto& [key, field] : *value.get_ptr<const Json::object_t*>()) {
        write(key);
        write(field, level + 1);
      }
      return;
    case Json::value_t::binary: {
      const Json::binary_t& bytes = value.get_binary();
      type(JsonType::binary);
      (*this)(static_cast<const std::vector<std::uint8_t>&>(bytes), bytes.has_subtype(),
              std::uint64_t{bytes.has_subtype() ? bytes.subtype() : 0});
      return;
    }
    case Json::value_t::discarded:
      return type(JsonType::discarded);
  }
}

WireReader::WireReader(const WireMessage& message, std::string_view whose)
    : message_(message), whose_(whose) {
  if (message.bytes.size() > kMostWireBytes || message.pictures.size() > kMostWirePictures)
    refuse("is too large");
  std::uint16_t version = 0;
  read(version);
  if (version != kWireVersion)
    refuse("is of version " + std::to_string(version) + ", and this is version " +
           std::to_string(kWireVersion));
}

void WireReader::end() const {
  if (left() > 0 || next_picture_ != message_.pictures.size())
    refuse("has more than belongs to it");
}

void WireReader::refuse(std::string_view fault) const {
  throw Error(ErrorCode::misbehaving_capsule,
              std::string(whose_) + " sent a message that " + std::string(fault) +
                  "; it is of another version of vcap, or has damaged its own memory");
}

void WireReader::refuse_levels() const {
  refuse("has more than " + std::to_string(kMostWireLevels) + " levels");
}

std::size_t WireReader::count(std::size_t size) {
  std::uint32_t elements = 0;
  read(elements);
  if (elements > left() / size) refuse("ends too early");
  return elements;
}

void WireReader::read(bool& truth) {
  std::uint8_t number = 0;
  read(number);
  if (number > 1) refuse("has a bool of " + std::to_string(number));
  truth = number == 1;
}

void WireReader::read(std::string& text) {
  const std::size_t size = count();
  text.assign(raw(size), size);
}

void WireReader::read(cv::Mat& picture) {
  if (next_picture_ == message_.pictures.size()) refuse("lacks a picture");
  picture = message_.pictures[next_picture_++];
}

void WireReader::read(Json& value, std::size_t level) {
  JsonType type{};
  choice(type, JsonType::discarded);
  if ((type == JsonType::list || type == JsonType::object) && level > kMostWireLevels)
    refuse_levels();
  const auto number = [&](auto of_type) {
    read(of_type);
    value = of_type;
  };
  switch (type) {
    case JsonType::null:
      value = nullptr;
      return;
    case JsonType::no:
    case JsonType::yes:
      value = type == JsonType::yes;
      return;
    case JsonType::integer:
      return number(Json::number_integer_t{});
    case JsonType::natural:
      return number(Json::number_unsigned_t{});
    case JsonType::real:
      return number(Json::number_float_t{});
    case JsonType::text:
      value = Json::string_t();
      return read(value.get_ref<std::string&>());
    case JsonType::list: {
      value = Json::array();
      auto& elements = value.get_ref<Json::array_t&>();
      for (std::size_t more = count(); more > 0; --more) read(elements.emplace_back(), level + 1);
      return;
    }
    case JsonType::object: {
      value = Json::object();
      auto& fields = value.get_ref<Json::object_t&>();
      for (std::size_t more = count(); more > 0; --more) {
        std::string key;
        read(key);
        read(fields.emplace_hint(fields.end(), std::move(key), nullptr)->second, level + 1);
      }
      return;
    }
    case JsonType::binary: {
      std::vector<std::uint8_t> bytes;
      bool has_subtype = false;
      std::uint64_t subtype = 0;
      (*this)(bytes, has_subtype, subtype);
      value =
          has_subtype ? Json::binary(std::move(bytes), subtype) : Json::binary(std::move(bytes));
      return;
    }
    case JsonType::discarded:
      value = Json(Json::value_t::discarded);
      return;
  }
}

}  // namespace vcap
