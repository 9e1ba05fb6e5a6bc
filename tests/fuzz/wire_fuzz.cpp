// SPDX-License-Identifier: Apache-2.0
// Reads what the code of a capsule may send its host: the first byte chooses the type. What is
// accepted and written again stays the same from then on.
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "fuzz/fuzz.hpp"
#include "isolation/wire_exception.hpp"
#include "isolation/wire_values.hpp"

namespace {

using vcap::WireMessage;

template <class Value>
Value read_as(const WireMessage& message) {
  vcap::WireReader reader(message, "fuzz");
  Value value{};
  reader(value);
  reader.end();
  return value;
}

template <class Value>
WireMessage written(const Value& value) {
  vcap::WireWriter writer;
  writer(value);
  return std::move(writer).take();
}

template <class Value>
void read_twice(const WireMessage& message) {
  const WireMessage once = written(read_as<Value>(message));
  const WireMessage twice = written(read_as<Value>(once));
  if (once.bytes != twice.bytes || once.pictures.size() != twice.pictures.size()) std::abort();
}

void read_exception(const WireMessage& message) {
  vcap::WireReader reader(message, "fuzz");
  try {
    vcap::throw_exception(reader);
  } catch (const vcap::Error&) {
    throw;
  } catch (...) {
    vcap::WireWriter writer;
    vcap::write_exception(writer, std::current_exception());
  }
}

}  // namespace

FUZZ(bytes) {
  if (bytes.empty()) return;
  WireMessage message{
      .bytes = std::string(reinterpret_cast<const char*>(bytes.data()) + 1, bytes.size() - 1)};
  // The low bits choose the type, the high ones say how many pictures come with it.
  const auto choice = std::to_integer<unsigned>(bytes[0]);
  for (unsigned i = choice >> 4; i > 0; --i) message.pictures.emplace_back(2, 2, CV_8UC1);
  switch (choice & 7) {
    case 0:
      return read_twice<vcap::DetectionNodes>(message);
    case 1:
      return read_twice<std::vector<vcap::DetectionNodes>>(message);
    case 2:
      return read_twice<nlohmann::json>(message);
    case 3:
      return read_twice<vcap::BatchStatistics>(message);
    case 4:
      return read_twice<vcap::Frame>(message);
    case 5:
      return read_twice<vcap::StreamInfo>(message);
    case 6:
      return read_twice<std::vector<std::vector<float>>>(message);
    default:
      return read_exception(message);
  }
}
