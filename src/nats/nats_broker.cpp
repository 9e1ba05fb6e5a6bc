// SPDX-License-Identifier: Apache-2.0
#include <nats/nats.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/thread_annotations.hpp"
#include "cluster/broker.hpp"
#include "cluster/nkey.hpp"
#include "nats/server_info.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

using std::chrono::milliseconds;

/// Frees an object of the library.
template <auto Destroy>
struct Destroyer {
  void operator()(auto* object) const noexcept { Destroy(object); }
};
using Options = std::unique_ptr<natsOptions, Destroyer<&natsOptions_Destroy>>;
using Connection = std::unique_ptr<natsConnection, Destroyer<&natsConnection_Destroy>>;
using Message = std::unique_ptr<natsMsg, Destroyer<&natsMsg_Destroy>>;
using Subscription = std::unique_ptr<natsSubscription, Destroyer<&natsSubscription_Destroy>>;
using Inbox = std::unique_ptr<natsInbox, Destroyer<&natsInbox_Destroy>>;

/// Whether the same call may succeed later.
bool is_passing(natsStatus status) {
  switch (status) {
    case NATS_TIMEOUT:
    case NATS_NO_RESPONDERS:
    case NATS_CONNECTION_DISCONNECTED:
    case NATS_STALE_CONNECTION:
    case NATS_NOT_YET_CONNECTED:
    case NATS_NO_SERVER:
    case NATS_IO_ERROR:
    case NATS_INSUFFICIENT_BUFFER:  // what was sent while there is no connection
    case NATS_SLOW_CONSUMER:
      return true;
    default:
      return false;
  }
}

[[noreturn]] void fail(natsStatus status, const std::string& what) {
  throw ClusterError(status == NATS_CONNECTION_CLOSED ? ErrorCode::closed
                     : is_passing(status)             ? ErrorCode::broker_unreachable
                                                      : ErrorCode::broker_refused,
                     what + ": " + natsStatus_GetText(status));
}

void check(natsStatus status, const std::string& what) {
  if (status != NATS_OK) fail(status, what);
}

const char* text_or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

/// Without the user and password that a URL may have.
std::string without_secret(const std::string& url) {
  const std::size_t at = url.rfind('@');
  const std::size_t scheme = url.find("://");
  if (at == url.npos) return url;
  return (scheme == url.npos ? std::string() : url.substr(0, scheme + 3)) + url.substr(at + 1);
}

Message to_library(const BrokerMessage& message) {
  natsMsg* made = nullptr;
  check(natsMsg_Create(&made, message.subject.c_str(), text_or_null(message.reply),
                       message.body.data(), static_cast<int>(message.body.size())),
        "a message for " + quote(message.subject));
  Message result(made);
  for (const auto& [key, value] : message.headers)
    check(natsMsgHeader_Set(made, key.c_str(), value.c_str()), "header " + quote(key));
  return result;
}

BrokerMessage from_library(natsMsg* message) {
  BrokerMessage result;
  result.subject = natsMsg_GetSubject(message);
  if (const char* const reply = natsMsg_GetReply(message)) result.reply = reply;
  result.body.assign(natsMsg_GetData(message),
                     static_cast<std::size_t>(natsMsg_GetDataLength(message)));
  const char** keys = nullptr;
  int count = 0;
  if (natsMsgHeader_Keys(message, &keys, &count) != NATS_OK) return result;
  for (int i = 0; i < count; ++i) {
    const char* value = nullptr;
    if (natsMsgHeader_Get(message, keys[i], &value) == NATS_OK)
      result.headers.emplace_back(keys[i], value);
  }
  std::free(keys);
  return result;
}

/// A subscription with a handler. The library's thread may still be in the handler when the
/// subscription ends, so the state is shared with it.
class NatsSubscription final : public BrokerSubscription {
 public:
  NatsSubscription(natsConnection* connection, const std::string& subject, Broker::Handler handler)
      : state_(std::make_shared<State>(std::move(handler))) {
    auto* const shared = new std::shared_ptr<State>(state_);
    natsSubscription* made = nullptr;
    const natsStatus status = natsConnection_Subscribe(
        &made, connection, subject.c_str(),
        [](natsConnection*, natsSubscription*, natsMsg* message, void* closure) {
          const Message owner(message);
          (*static_cast<std::shared_ptr<State>*>(closure))->handle(message);
        },
        shared);
    if (status != NATS_OK) {
      delete shared;
      fail(status, "the subscription to " + quote(subject));
    }
    subscription_.reset(made);
    // Called once, after the last message.
    natsSubscription_SetOnCompleteCB(
        made, [](void* closure) { delete static_cast<std::shared_ptr<State>*>(closure); }, shared);
    natsSubscription_SetPendingLimits(made, -1, 256 << 20);
  }
  ~NatsSubscription() override {
    state_->end();
    natsSubscription_Unsubscribe(subscription_.get());
  }

 private:
  class State {
   public:
    explicit State(Broker::Handler handler) : handler_(std::move(handler)) {}
    void handle(natsMsg* message) {
      const MutexLock lock(mutex_);
      if (ended_) return;
      in_handler_ = std::this_thread::get_id();
      try {
        handler_(from_library(message));
      } catch (const std::exception& error) {
        log(LogLevel::warning, "cluster: a message on " + quote(natsMsg_GetSubject(message)) +
                                   " is ignored: " + bounded_text(error.what()));
      }
      in_handler_ = std::thread::id();
    }
    void end() VCAP_NO_THREAD_SAFETY_ANALYSIS {  // the handler's own thread has the lock already
      if (in_handler_ == std::this_thread::get_id()) {
        ended_ = true;
        return;
      }
      const MutexLock lock(mutex_);
      ended_ = true;
    }

   private:
    const Broker::Handler handler_;
    Mutex mutex_;  ///< held while the handler runs
    std::atomic<std::thread::id> in_handler_{};
    bool ended_ VCAP_GUARDED_BY(mutex_) = false;
  };

  const std::shared_ptr<State> state_;
  Subscription subscription_;
};

class NatsBroker final : public Broker {
 public:
  NatsBroker(const ClusterSettings& settings, Observer observer)
      : timeout_(settings.timeout),
        shared_(std::make_shared<Shared>(std::move(observer), settings.nkey)) {
    const Options options = make_options(settings);
    auto* const cell = new std::shared_ptr<Shared>(shared_);
    set_callbacks(options.get(), cell);
    natsConnection* made = nullptr;
    const natsStatus status = natsConnection_Connect(&made, options.get());
    if (status != NATS_OK) {
      delete cell;  // without a connection there is no last callback
      // After the place in the library's source: "(conn.c:2088): No server available".
      std::string detail = nats_GetLastError(nullptr);
      if (const std::size_t end = detail.find("): "); detail.starts_with('(') && end != detail.npos)
        detail.erase(0, end + 3);
      throw ClusterError(
          is_passing(status) ? ErrorCode::broker_unreachable : ErrorCode::broker_refused,
          "no connection to the broker " + quote(without_secret(settings.url)) + ": " +
              natsStatus_GetText(status) + (detail.empty() ? "" : " (" + printable(detail) + ")") +
              "; check the URL, that the server runs, and the login");
    }
    connection_.reset(made);
  }
  ~NatsBroker() override {
    shared_->end();
    close();
  }

  void publish(const BrokerMessage& message) override {
    const Message made = to_library(message);
    check(natsConnection_PublishMsg(connection_.get(), made.get()),
          "sending to " + quote(message.subject));
  }

  BrokerMessage request(const BrokerMessage& message, milliseconds timeout) override {
    const Message made = to_library(message);
    natsMsg* answer = nullptr;
    const natsStatus status =
        natsConnection_RequestMsg(&answer, connection_.get(), made.get(), timeout.count());
    check_request(status, message.subject);
    const Message owner(answer);
    return from_library(answer);
  }

  std::vector<BrokerMessage> gather(const BrokerMessage& message, std::size_t most,
                                    milliseconds timeout) override {
    const std::string what = "a request to " + quote(message.subject);
    BrokerMessage request = message;
    request.reply = new_inbox();
    natsSubscription* made = nullptr;
    check(natsConnection_SubscribeSync(&made, connection_.get(), request.reply.c_str()), what);
    const Subscription subscription(made);
    publish(request);
    std::vector<BrokerMessage> answers;
    while (answers.size() < most) {
      natsMsg* answer = nullptr;
      const natsStatus status = natsSubscription_NextMsg(&answer, made, timeout.count());
      if (status == NATS_TIMEOUT && !answers.empty()) break;
      check_request(status, message.subject);
      const Message owner(answer);
      if (natsMsg_IsNoResponders(answer)) fail(NATS_NO_RESPONDERS, what);
      answers.push_back(from_library(answer));
      if (!answers.back().status().empty()) break;
    }
    return answers;
  }

  std::unique_ptr<BrokerSubscription> subscribe(const std::string& subject,
                                                Handler handler) override {
    return std::make_unique<NatsSubscription>(connection_.get(), subject, std::move(handler));
  }

  std::string new_inbox() const override {
    natsInbox* made = nullptr;
    check(natsInbox_Create(&made), "an inbox");
    const Inbox owner(made);
    const std::string inbox = made;
    return shared_->nkey ? shared_->nkey->inbox() + inbox.substr(inbox.find('.')) : inbox;
  }

  bool is_connected() const override {
    return natsConnection_Status(connection_.get()) == NATS_CONN_STATUS_CONNECTED;
  }
  std::optional<BrokerServer> server() const override {
    std::array<char, 1024> url{};
    if (natsConnection_GetConnectedUrl(connection_.get(), url.data(), url.size()) != NATS_OK)
      return std::nullopt;
    return read_server_info(url.data(), timeout_);
  }
  void close() noexcept override {
    if (connection_) natsConnection_Close(connection_.get());
  }

 private:
  Options make_options(const ClusterSettings& settings) const {
    natsOptions* made = nullptr;
    check(natsOptions_Create(&made), "options");
    Options options(made);
    std::vector<std::string> urls;
    for (std::size_t at = 0; at <= settings.url.size();) {
      const std::size_t end = std::min(settings.url.find(',', at), settings.url.size());
      if (end > at) urls.push_back(settings.url.substr(at, end - at));
      at = end + 1;
    }
    std::vector<const char*> servers;
    servers.reserve(urls.size());
    for (const std::string& url : urls) servers.push_back(url.c_str());
    check(natsOptions_SetServers(made, servers.data(), static_cast<int>(servers.size())),
          "the URL " + quote(without_secret(settings.url)));
    check(natsOptions_SetName(made, settings.name.c_str()), "the name " + quote(settings.name));
    check(natsOptions_SetTimeout(made, settings.timeout.count()), "the timeout");
    check(natsOptions_SetMaxReconnect(made, -1), "reconnections");
    check(natsOptions_SetReconnectWait(made, 100), "reconnections");
    check(natsOptions_SetReconnectJitter(made, 200, 500), "reconnections");
    // A server that is cut off is noticed after three intervals.
    check(natsOptions_SetPingInterval(made, 2'000), "pings");
    check(natsOptions_SetMaxPingsOut(made, 2), "pings");
    check(natsOptions_SetFailRequestsOnDisconnect(made, true), "requests");
    set_login(made, settings);
    return options;
  }

  /// The server says nothing to whoever sends what it does not permit, but reports it to the
  /// connection.
  void check_request(natsStatus status, const std::string& subject) const {
    if (status == NATS_TIMEOUT && shared_->was_denied(subject))
      throw ClusterError(ErrorCode::broker_refused,
                         "a request to " + quote(subject) +
                             " is not permitted to this login; give the login of another role");
    check(status, "a request to " + quote(subject));
  }

  void set_login(natsOptions* options, const ClusterSettings& settings) const {
    if (const auto& nkey = shared_->nkey) {
      check(natsOptions_SetNKey(options, nkey->public_key().c_str(), &sign, shared_.get()),
            "the NKey in " + quote(settings.nkey));
      check(natsOptions_SetCustomInboxPrefix(options, nkey->inbox().c_str()), "the inbox");
    }
    if (!settings.credentials.empty())
      check(natsOptions_SetUserCredentialsFromFiles(options, settings.credentials.c_str(), nullptr),
            "the credentials in " + quote(settings.credentials));
    if (settings.url.find("tls://") != std::string::npos || !settings.certificates.empty() ||
        !settings.certificate.empty())
      check(natsOptions_SetSecure(options, true), "TLS");
    if (!settings.certificates.empty())
      check(natsOptions_LoadCATrustedCertificates(options, settings.certificates.c_str()),
            "the certificates in " + quote(settings.certificates));
    if (!settings.certificate.empty())
      check(natsOptions_LoadCertificatesChain(options, settings.certificate.c_str(),
                                              settings.key.c_str()),
            "the certificate in " + quote(settings.certificate) + " with the key in " +
                quote(settings.key));
  }

  /// The library's threads may use it after the connection is closed.
  class Shared {
   public:
    /// `seed`: the file of an NKey; empty: none.
    Shared(Observer observer, const std::string& seed) : observer_(std::move(observer)) {
      if (!seed.empty()) nkey.emplace(Nkey::from_file(seed));
    }
    void note(const std::string& loss) {
      const MutexLock lock(mutex_);
      if (observer_) observer_(loss);
    }
    void end() {
      const MutexLock lock(mutex_);
      observer_ = nullptr;
    }
    /// `report`: the server's, such as: Permissions Violation for Publish to "SUBJECT".
    void note_denied(const std::string& report) {
      log(LogLevel::warning, "cluster: the broker: " + bounded_text(report) +
                                 "; the login may be that of another role or site");
      const std::size_t begin = report.find('"');
      const std::size_t end = report.rfind('"');
      if (begin == end || report.find("Publish") == report.npos) return;
      const MutexLock lock(denied_mutex_);
      if (denied_.size() >= kMostDenied) denied_.clear();
      denied_.insert(report.substr(begin + 1, end - begin - 1));
    }
    /// Whether something on this subject was denied since the last call.
    bool was_denied(const std::string& subject) {
      const MutexLock lock(denied_mutex_);
      return denied_.erase(subject) > 0;
    }

    std::optional<Nkey> nkey{};

   private:
    static constexpr std::size_t kMostDenied = 1'000;

    Mutex mutex_;  ///< held while the observer runs
    Observer observer_ VCAP_GUARDED_BY(mutex_);
    Mutex denied_mutex_;
    std::set<std::string> denied_ VCAP_GUARDED_BY(denied_mutex_);
  };
  using Cell = std::shared_ptr<Shared>;

  static natsStatus sign(char**, unsigned char** signature, int* size, const char* nonce,
                         void* closure) {
    const auto signed_nonce = static_cast<const Shared*>(closure)->nkey->sign(nonce);
    // The library frees it.
    *signature = static_cast<unsigned char*>(std::malloc(signed_nonce.size()));
    if (*signature == nullptr) return NATS_NO_MEMORY;
    std::memcpy(*signature, signed_nonce.data(), signed_nonce.size());
    *size = static_cast<int>(signed_nonce.size());
    return NATS_OK;
  }

  static void set_callbacks(natsOptions* options, Cell* cell) {
    check(
        natsOptions_SetReconnectedCB(
            options,
            [](natsConnection*, void* closure) { (*static_cast<Cell*>(closure))->note({}); }, cell),
        "callbacks");
    check(natsOptions_SetDisconnectedCB(
              options,
              [](natsConnection*, void* closure) {
                (*static_cast<Cell*>(closure))->note("the connection was lost");
              },
              cell),
          "callbacks");
    check(natsOptions_SetErrorHandler(
              options,
              [](natsConnection*, natsSubscription*, natsStatus status, void* closure) {
                Shared& shared = **static_cast<Cell*>(closure);
                const char* const report = nats_GetLastError(nullptr);
                if (status == NATS_NOT_PERMITTED && report != nullptr)
                  shared.note_denied(report);
                else
                  shared.note(natsStatus_GetText(status));
              },
              cell),
          "callbacks");
    // The last callback of a connection.
    check(natsOptions_SetClosedCB(
              options, [](natsConnection*, void* closure) { delete static_cast<Cell*>(closure); },
              cell),
          "callbacks");
  }

  const milliseconds timeout_;
  const Cell shared_;
  Connection connection_;
};

std::unique_ptr<Broker> connect(const ClusterSettings& settings, Broker::Observer observer) {
  return std::make_unique<NatsBroker>(settings, std::move(observer));
}

}  // namespace
}  // namespace vcap

extern "C" VCAP_EXPORT vcap::ConnectBroker vcap_nats_1();
vcap::ConnectBroker vcap_nats_1() { return &vcap::connect; }
