// SPDX-License-Identifier: Apache-2.0
#include "vcap/records/publisher.hpp"

#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "records/message_pump.hpp"
#include "records/record_line.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

class PublishingSink final : public Sink {
 public:
  explicit PublishingSink(std::shared_ptr<Publisher> publisher)
      : publisher_(std::move(publisher)) {}

  void write(const FrameRecord& record) override {
    const std::string line = record_line(record);
    publisher_->pump()->add_or_lose(record.stream_id,
                                    std::string_view(line).substr(0, line.size() - 1));
  }
  bool needs_pixels() const override { return false; }

 private:
  const std::shared_ptr<Publisher> publisher_;
};

}  // namespace

Publisher::Publisher(std::shared_ptr<MessagePump> pump) noexcept : pump_(std::move(pump)) {}

Publisher::~Publisher() { pump_->leave(); }

void Publisher::publish(const std::string& stream_id, const std::string& object) {
  const bool is_object =
      object.starts_with('{') && object.ends_with('}') && nlohmann::json::accept(object);
  if (!is_object)
    throw InvalidArgument(ErrorCode::invalid_json,
                          "a message to " + pump_->name() + " is " + quote(object) +
                              "; it must be a JSON object, without blanks around it");
  pump_->add_or_lose(stream_id, object);
}

PublisherStats Publisher::stats() const { return pump_->stats(); }

void Publisher::begin_close() { pump_->begin_close(); }

void Publisher::close() { pump_->close(); }

std::unique_ptr<Sink> make_publishing_sink(std::shared_ptr<Publisher> publisher) {
  if (!publisher)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "the publisher of a publishing sink is null; give one");
  return std::make_unique<PublishingSink>(std::move(publisher));
}

}  // namespace vcap
