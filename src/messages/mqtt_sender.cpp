// SPDX-License-Identifier: Apache-2.0
#include <mosquitto.h>
#include <mqtt_protocol.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread_annotations.hpp"
#include "messages/senders.hpp"
#include "vcap/base/error.hpp"
#include "vcap/model/uuid.hpp"

namespace vcap {
namespace {

constexpr int kKeepAlive = 30;   // seconds
constexpr int kAtLeastOnce = 1;  // QoS
/// The answers of a broker that speaks only version 3.1.1; of MQTT 5 and of 3.1.1.
constexpr int kRefusedVersions[] = {MQTT_RC_UNSUPPORTED_PROTOCOL_VERSION, 1};
void start_mosquitto() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (mosquitto_lib_init() != MOSQ_ERR_SUCCESS) throw std::bad_alloc();
  });
}

std::string mosquitto_text(int code) {
  return code == MOSQ_ERR_ERRNO ? std::generic_category().message(errno) : mosquitto_strerror(code);
}

/// The topic of a stream: its id is one level.
std::string topic_of(const std::string& pattern, std::string stream) {
  for (char& c : stream)
    if (c == '/' || c == '+' || c == '#' || c == '\0') c = '_';
  constexpr std::string_view kPlace = "{stream}";
  std::string topic = pattern;
  for (std::size_t at = 0; (at = topic.find(kPlace, at)) != topic.npos; at += stream.size())
    topic.replace(at, kPlace.size(), stream);
  return topic;
}

/// What the library's thread has told. Thread safety: thread-safe.
class MqttAnswers {
 public:
  void connected(int code) {
    const MutexLock lock(mutex_);
    connected_ = code;
    changed_.notify_all();
  }
  void disconnected(int code) {
    const MutexLock lock(mutex_);
    if (!lost_) lost_ = code;
    changed_.notify_all();
  }
  void acknowledged(int message, int code) {
    const MutexLock lock(mutex_);
    answers_.insert_or_assign(message, code);
    changed_.notify_all();
  }
  void stop() {
    const MutexLock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  /// For a new connection.
  void reset() {
    const MutexLock lock(mutex_);
    connected_.reset();
    lost_.reset();
    answers_.clear();
  }

  bool is_stopped() const {
    const MutexLock lock(mutex_);
    return stopped_;
  }
  bool is_lost() const {
    const MutexLock lock(mutex_);
    return lost_.has_value();
  }
  /// The broker's code; `nullopt` if there was none in time, or the connection was lost.
  std::optional<int> await_connected(std::chrono::milliseconds timeout) {
    const MutexLock lock(mutex_);
    changed_.wait_for(mutex_, timeout,
                      [this]() VCAP_REQUIRES(mutex_) { return connected_ || lost_ || stopped_; });
    return connected_;
  }
  std::optional<int> await_answer(int message, std::chrono::milliseconds timeout) {
    const MutexLock lock(mutex_);
    changed_.wait_for(mutex_, timeout, [this, message]() VCAP_REQUIRES(mutex_) {
      return answers_.contains(message) || lost_ || stopped_;
    });
    const auto found = answers_.find(message);
    if (found == answers_.end()) return std::nullopt;
    const int code = found->second;
    answers_.erase(found);
    return code;
  }
  /// Why there was no answer.
  std::string failure() const {
    const MutexLock lock(mutex_);
    if (stopped_) return "the publisher was closed";
    if (lost_)
      return "the connection was lost" +
             (*lost_ == 0 ? std::string() : ": " + mosquitto_text(*lost_));
    return "the broker did not answer in time";
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  std::optional<int> connected_ VCAP_GUARDED_BY(mutex_);
  std::optional<int> lost_ VCAP_GUARDED_BY(mutex_);
  std::map<int, int> answers_ VCAP_GUARDED_BY(mutex_);
  bool stopped_ VCAP_GUARDED_BY(mutex_) = false;
};

/// A client of the library with a thread for it. Thread safety: thread-compatible.
class MqttClient {
 public:
  /// Throws OutputError.
  MqttClient(const MqttSettings& settings, const std::string& name, int version,
             MqttAnswers& answers)
      : client_(mosquitto_new(name.c_str(), true, &answers), &mosquitto_destroy) {
    if (!client_) throw std::bad_alloc();
    mosquitto_int_option(get(), MOSQ_OPT_PROTOCOL_VERSION, version);
    if (!settings.user.empty())
      require(mosquitto_username_pw_set(
                  get(), settings.user.c_str(),
                  settings.password.empty() ? nullptr : settings.password.c_str()),
              "the user and password");
    if (settings.tls && settings.certificates.empty())
      require(mosquitto_int_option(get(), MOSQ_OPT_TLS_USE_OS_CERTS, 1), "TLS");
    if (settings.tls && !settings.certificates.empty())
      require(mosquitto_tls_set(get(), settings.certificates.c_str(), nullptr, nullptr, nullptr,
                                nullptr),
              "the certificates " + settings.certificates);
    set_callbacks();
  }
  MqttClient(const MqttClient&) = delete;
  MqttClient& operator=(const MqttClient&) = delete;
  ~MqttClient() {
    mosquitto_disconnect(get());
    if (thread_.joinable()) thread_.join();
  }

  mosquitto* get() const { return client_.get(); }

  /// Returns why it failed; empty if it did not. The broker's answer comes later.
  std::string connect(const MqttSettings& settings) {
    const int port = settings.port != 0 ? settings.port : settings.tls ? 8883 : 1883;
    mosquitto_threaded_set(get(), true);
    const int code = mosquitto_connect(get(), settings.host.c_str(), port, kKeepAlive);
    if (code != MOSQ_ERR_SUCCESS) return "cannot connect: " + mosquitto_text(code);
    // Not the library's own thread, which does not tell how it ended, such as with a TLS error.
    thread_ = std::thread([this] {
      const int end = mosquitto_loop_forever(get(), -1, 1);
      static_cast<MqttAnswers*>(mosquitto_userdata(get()))->disconnected(end);
    });
    return {};
  }

 private:
  static void require(int code, const std::string& what) {
    if (code != MOSQ_ERR_SUCCESS)
      throw OutputError(ErrorCode::output_open,
                        "libmosquitto does not accept " + what + ": " + mosquitto_text(code));
  }
  static MqttAnswers& answers_in(void* pointer) { return *static_cast<MqttAnswers*>(pointer); }

  /// The library does not connect again by itself: MqttSender does, when it wants to.
  void set_callbacks() {
    mosquitto_connect_v5_callback_set(
        get(), [](mosquitto* client, void* answers, int code, int, const mosquitto_property*) {
          answers_in(answers).connected(code);
          if (code != 0) mosquitto_disconnect(client);
        });
    mosquitto_disconnect_v5_callback_set(
        get(), [](mosquitto* client, void* answers, int code, const mosquitto_property*) {
          answers_in(answers).disconnected(code);
          mosquitto_disconnect(client);
        });
    mosquitto_publish_v5_callback_set(
        get(), [](mosquitto*, void* answers, int message, int code, const mosquitto_property*) {
          answers_in(answers).acknowledged(message, code);
        });
  }

  std::unique_ptr<mosquitto, decltype(&mosquitto_destroy)> client_;
  std::thread thread_;  ///< uses client_
};

class MqttSender final : public MessageSender {
 public:
  explicit MqttSender(MqttSettings settings) : settings_(std::move(settings)) {
    start_mosquitto();
    make_client();  // so that a wrong certificate is found now
  }

  Result send(std::span<const OutgoingMessage> messages) override {
    Result result{.failure = connect()};
    if (!result.failure.empty()) return result;
    result = publish(messages);
    if (!result.failure.empty()) client_.reset();
    return result;
  }

  void stop() noexcept override { answers_.stop(); }

 private:
  void make_client() {
    client_.reset();
    answers_.reset();
    client_.emplace(settings_, name_, version_, answers_);
    is_connected_ = false;
  }

  /// Returns why there is no connection; empty if there is one.
  std::string connect() {
    if (answers_.is_stopped()) return answers_.failure();
    if (client_ && is_connected_ && !answers_.is_lost()) return {};
    std::optional<int> code = connect_once();
    const bool is_old = code && version_ == MQTT_PROTOCOL_V5 &&
                        std::ranges::find(kRefusedVersions, *code) != std::end(kRefusedVersions);
    if (is_old) {
      version_ = MQTT_PROTOCOL_V311;
      code = connect_once();
    }
    is_connected_ = code == 0;
    if (is_connected_) return {};
    std::string why = !failure_.empty() ? failure_
                      : code            ? std::string("the broker refuses the connection: ") +
                                   (version_ == MQTT_PROTOCOL_V5 ? mosquitto_reason_string(*code)
                                                                 : mosquitto_connack_string(*code))
                             : answers_.failure();
    client_.reset();
    return why;
  }

  std::optional<int> connect_once() {
    make_client();
    failure_ = client_->connect(settings_);
    return failure_.empty() ? answers_.await_connected(settings_.timeout) : std::nullopt;
  }

  Result publish(std::span<const OutgoingMessage> messages) {
    Result result;
    std::vector<int> numbers;
    for (const OutgoingMessage& message : messages) {
      int number = 0;
      const std::string topic = topic_of(settings_.topic, message.stream_id);
      const int code = mosquitto_publish_v5(client_->get(), &number, topic.c_str(),
                                            static_cast<int>(message.body.size()),
                                            message.body.data(), kAtLeastOnce, false, nullptr);
      if (code == MOSQ_ERR_INVAL || code == MOSQ_ERR_PAYLOAD_SIZE ||
          code == MOSQ_ERR_MALFORMED_UTF8 || code == MOSQ_ERR_OVERSIZE_PACKET) {
        result.refused.push_back({numbers.size(), mosquitto_text(code)});
      } else if (code != MOSQ_ERR_SUCCESS) {
        result.failure = mosquitto_text(code);
        break;
      }
      numbers.push_back(number);
    }
    await_answers(numbers, result);
    return result;
  }

  /// The library sends and acknowledges in order.
  void await_answers(const std::vector<int>& numbers, Result& result) {
    std::vector<Refusal> refused = std::exchange(result.refused, {});
    auto known = refused.begin();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (known != refused.end() && known->index == i) {
        result.refused.push_back(*known++);
      } else {
        const std::optional<int> code = answers_.await_answer(numbers[i], settings_.timeout);
        if (!code) {
          result.failure = answers_.failure();
          return;
        }
        // Also for a reason that may pass: later ones may be delivered already, and after them
        // readers would take it for a repetition.
        if (*code >= MQTT_RC_UNSPECIFIED)
          result.refused.push_back({i, mosquitto_reason_string(*code)});
      }
      result.settled = i + 1;
    }
  }

  const MqttSettings settings_;
  /// Brokers disconnect the older one of two clients with one name.
  const std::string name_ = "vcap-" + Uuid::random().to_string().substr(0, 18);
  MqttAnswers answers_;
  int version_ = MQTT_PROTOCOL_V5;
  std::optional<MqttClient> client_;  ///< after answers_, which it uses
  bool is_connected_ = false;
  std::string failure_;  ///< of connect_once()
};

}  // namespace

std::unique_ptr<MessageSender> make_mqtt_sender(const MqttSettings& settings) {
  return std::make_unique<MqttSender>(settings);
}

}  // namespace vcap
