// SPDX-License-Identifier: Apache-2.0
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_annotations.hpp"
#include "messages/senders.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// Errors of a message that the brokers will never take.
constexpr std::array kForEver{RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
                              RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE, RD_KAFKA_RESP_ERR_INVALID_RECORD};

bool is_refusal(rd_kafka_resp_err_t code) {
  return std::ranges::find(kForEver, code) != kForEver.end();
}

void set_config(rd_kafka_conf_t* config, const char* name, const std::string& value) {
  std::array<char, 512> why{};
  if (rd_kafka_conf_set(config, name, value.c_str(), why.data(), why.size()) != RD_KAFKA_CONF_OK)
    throw OutputError(ErrorCode::output_open,
                      std::string("librdkafka does not accept ") + name + ": " +
                          (std::string_view(name).starts_with("sasl.") ? "" : why.data()));
}

/// One producer of the library, with its threads. It is used for one thread's messages, which it
/// reports by their place in `answers`. Thread safety: thread-compatible.
class KafkaProducer {
 public:
  using Answers = std::vector<std::optional<rd_kafka_resp_err_t>>;

  /// Throws OutputError.
  explicit KafkaProducer(const KafkaSettings& settings) {
    Config config(rd_kafka_conf_new(), &rd_kafka_conf_destroy);
    configure(config.get(), settings);
    std::array<char, 512> why{};
    producer_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, config.get(), why.data(), why.size()));
    if (!producer_)
      throw OutputError(ErrorCode::output_open,
                        std::string("librdkafka makes no producer: ") + why.data());
    static_cast<void>(config.release());  // the producer has it now
    queue_.reset(rd_kafka_queue_get_main(producer_.get()));
  }
  KafkaProducer(const KafkaProducer&) = delete;
  KafkaProducer& operator=(const KafkaProducer&) = delete;
  ~KafkaProducer() {
    rd_kafka_purge(producer_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                                        RD_KAFKA_PURGE_F_NON_BLOCKING);
  }

  rd_kafka_queue_t* queue() const { return queue_.get(); }

  /// Gives a message to the library, which reports at that place.
  rd_kafka_resp_err_t produce(const KafkaSettings& settings, const OutgoingMessage& message,
                              std::size_t place) {
    void* const mark = reinterpret_cast<void*>(place);
    return rd_kafka_producev(
        producer_.get(), RD_KAFKA_V_TOPIC(settings.topic.c_str()),
        RD_KAFKA_V_KEY(message.stream_id.data(), message.stream_id.size()),
        RD_KAFKA_V_VALUE(const_cast<char*>(message.body.data()), message.body.size()),
        RD_KAFKA_V_HEADER("vcap-message-id", message.id.data(),
                          static_cast<ssize_t>(message.id.size())),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_OPAQUE(mark), RD_KAFKA_V_END);
  }

  /// Reports until nothing is left for now, or queue() yields. Reports come within this call.
  void poll(std::chrono::milliseconds timeout) {
    rd_kafka_queue_poll_callback(queue_.get(), static_cast<int>(timeout.count()));
  }

  Answers answers{};
  std::size_t missing = 0;  ///< answers
  std::string trouble{};    ///< what the library said last
  bool is_broken = false;   ///< it will not send any more

 private:
  using Config = std::unique_ptr<rd_kafka_conf_t, decltype(&rd_kafka_conf_destroy)>;

  void configure(rd_kafka_conf_t* config, const KafkaSettings& settings) {
    set_config(config, "bootstrap.servers", settings.servers);
    set_config(config, "client.id", "vcap");
    set_config(config, "enable.idempotence", "true");
    set_config(config, "linger.ms", "0");
    // The library gives up no message, and has one request in flight: if it dropped one and sent
    // the next, the first would come late, and readers would take it for a repetition.
    set_config(config, "message.timeout.ms", "0");
    set_config(config, "max.in.flight.requests.per.connection", "1");
    const bool has_user = !settings.user.empty();
    set_config(config, "security.protocol",
               std::string(has_user ? "sasl_" : "") + (settings.tls ? "ssl" : "plaintext"));
    if (settings.tls && !settings.certificates.empty())
      set_config(config, "ssl.ca.location", settings.certificates);
    if (has_user) {
      set_config(config, "sasl.mechanism", settings.mechanism);
      set_config(config, "sasl.username", settings.user);
      set_config(config, "sasl.password", settings.password);
    }
    rd_kafka_conf_set_opaque(config, this);
    rd_kafka_conf_set_dr_msg_cb(
        config, [](rd_kafka_t*, const rd_kafka_message_t* message, void* self) {
          static_cast<KafkaProducer*>(self)->report(
              reinterpret_cast<std::size_t>(message->_private), message->err);
        });
    rd_kafka_conf_set_error_cb(config, [](rd_kafka_t*, int code, const char* reason, void* self) {
      auto& producer = *static_cast<KafkaProducer*>(self);
      producer.trouble = reason;
      if (code == RD_KAFKA_RESP_ERR__FATAL) producer.is_broken = true;
    });
    rd_kafka_conf_set_log_cb(config, [](const rd_kafka_t*, int, const char*, const char*) {});
  }

  void report(std::size_t place, rd_kafka_resp_err_t code) {
    if (place >= answers.size() || answers[place]) return;
    answers[place] = code;
    --missing;
  }

  struct DestroyProducer {
    void operator()(rd_kafka_t* producer) const { rd_kafka_destroy(producer); }
  };
  struct DestroyQueue {
    void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
  };
  std::unique_ptr<rd_kafka_t, DestroyProducer> producer_;
  std::unique_ptr<rd_kafka_queue_t, DestroyQueue> queue_;  ///< destroyed before the producer
};

class KafkaSender final : public MessageSender {
 public:
  explicit KafkaSender(KafkaSettings settings) : settings_(std::move(settings)) {
    KafkaProducer producer(settings_);  // so that a wrong setting is found now
  }

  Result send(std::span<const OutgoingMessage> messages) override {
    Result result;
    if (!open()) {
      result.failure = "the publisher was closed";
      return result;
    }
    produce(messages, result);
    if (result.failure.empty()) await_answers();
    judge(messages.size(), result);
    if (!result.failure.empty()) forget();  // what it has not sent is sent by the next one
    return result;
  }

  void stop() noexcept override {
    const MutexLock lock(mutex_);
    stopped_ = true;
    if (queue_ != nullptr) rd_kafka_queue_yield(queue_);
  }

 private:
  bool open() {
    if (!producer_) producer_.emplace(settings_);
    const MutexLock lock(mutex_);
    queue_ = producer_->queue();
    return !stopped_;
  }
  void forget() {
    {
      const MutexLock lock(mutex_);
      queue_ = nullptr;
    }
    producer_.reset();
  }
  bool is_stopped() const {
    const MutexLock lock(mutex_);
    return stopped_;
  }

  /// Until all are there, or none has come for the timeout.
  void await_answers() {
    auto until = std::chrono::steady_clock::now() + settings_.timeout;
    while (producer_->missing > 0 && !producer_->is_broken && !is_stopped()) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      if (left.count() <= 0) return;
      const std::size_t missing = producer_->missing;
      producer_->poll(left);
      if (producer_->missing < missing)
        until = std::chrono::steady_clock::now() + settings_.timeout;
    }
  }

  void produce(std::span<const OutgoingMessage> messages, Result& result) {
    KafkaProducer& producer = *producer_;
    producer.answers.assign(messages.size(), std::nullopt);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const rd_kafka_resp_err_t code = producer.produce(settings_, messages[i], i);
      if (is_refusal(code)) {
        producer.answers[i] = code;
      } else if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        result.failure = rd_kafka_err2str(code);
        return;
      } else {
        ++producer.missing;
      }
    }
  }

  void judge(std::size_t count, Result& result) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto& answer = producer_->answers[i];
      if (answer && is_refusal(*answer)) {
        result.refused.push_back({i, rd_kafka_err2str(*answer)});
      } else if (answer != RD_KAFKA_RESP_ERR_NO_ERROR) {
        if (result.failure.empty())
          result.failure = answer                 ? rd_kafka_err2str(*answer)
                           : is_stopped()         ? "the publisher was closed"
                           : producer_->is_broken ? "the producer failed"
                                                  : "no broker answered in time";
        if (!producer_->trouble.empty()) result.failure += "; " + producer_->trouble;
        return;
      }
      result.settled = i + 1;
    }
  }

  const KafkaSettings settings_;
  std::optional<KafkaProducer> producer_;
  mutable Mutex mutex_;
  rd_kafka_queue_t* queue_ VCAP_GUARDED_BY(mutex_) = nullptr;  ///< while a producer has it
  bool stopped_ VCAP_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::unique_ptr<MessageSender> make_kafka_sender(const KafkaSettings& settings) {
  return std::make_unique<KafkaSender>(settings);
}

}  // namespace vcap
