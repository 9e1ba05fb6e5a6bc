// SPDX-License-Identifier: Apache-2.0
#include "vcap/pipeline/metrics_server.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstring>
#include <exception>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <CivetServer.h>
#include <prometheus/exposer.h>

#include "base/text.hpp"
#include "base/thread_annotations.hpp"
#include "pipeline/metric_families.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

class PipelineMetrics final : public prometheus::Collectable {
 public:
  explicit PipelineMetrics(const Pipeline& pipeline) : pipeline_(pipeline) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<prometheus::MetricFamily> families = metric_families(pipeline_.stats());
    std::vector<prometheus::MetricFamily> process = process_metric_families();
    std::move(process.begin(), process.end(), std::back_inserter(families));
    return families;
  }

 private:
  const Pipeline& pipeline_;
};

/// Where to listen: as given, and as resolved.
struct Address {
  std::string given;
  std::string host{};
  std::uint16_t port = 0;
  sockaddr_in socket{};
};

std::pair<std::string, std::uint16_t> host_and_port_of(const std::string& given) {
  const std::size_t colon = given.rfind(':');
  std::uint16_t port = 0;
  if (colon != std::string::npos && colon > 0) {
    const char* const end = given.data() + given.size();
    const auto [rest, error] = std::from_chars(given.data() + colon + 1, end, port);
    if (error == std::errc() && rest == end) return {given.substr(0, colon), port};
  }
  throw InvalidArgument(ErrorCode::invalid_argument,
                        "metrics address " + quote(given) +
                            " is not HOST:PORT; give an address or a name, and a port from 0 to "
                            "65535, such as 127.0.0.1:9464");
}

[[noreturn]] void fail_listening(const std::string& given, const std::string& why) {
  throw OutputError(ErrorCode::output_open,
                    "cannot serve metrics at " + printable(given) + ": " + why);
}

Address resolve(const std::string& given) {
  auto [host, port] = host_and_port_of(given);
  addrinfo wanted{};
  wanted.ai_family = AF_INET;  // the server in prometheus-cpp may be built without IPv6
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  if (error != 0)
    fail_listening(given, std::string(::gai_strerror(error)) +
                              "; give an IPv4 address of this machine, or a name that has one");
  Address address{.given = given};
  std::memcpy(&address.socket, found->ai_addr, sizeof address.socket);
  ::freeaddrinfo(found);
  address.port = port;
  address.socket.sin_port = htons(port);
  char text[NI_MAXHOST];
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address.socket), sizeof address.socket, text,
                    sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
    fail_listening(given, "the address cannot be converted to numbers; give a numeric address");
  address.host = text;
  return address;
}

/// Collects what the web server in prometheus-cpp reports while it starts: error messages, and how
/// many of its threads run. The callbacks have no context argument, so only one start may be in
/// progress.
class ServerStart {
 public:
  ServerStart() {
    threads_ = 0;
    message_.clear();
    callbacks_.log_message = [](const mg_connection*, const char* message) {
      const MutexLock lock(mutex_);
      if (message_.empty()) message_ = message;  // the first message says most
      return 1;                                  // the server does not log it
    };
    callbacks_.init_thread = [](const mg_context*, int) -> void* {
      const MutexLock lock(mutex_);
      ++threads_;
      started_.notify_all();
      return nullptr;
    };
    ::sigaction(SIGPIPE, nullptr, &sigpipe_);
  }
  /// Restores the host's handling of SIGPIPE. Each server thread begins by making the whole process
  /// ignore the signal, but that is the host's decision. The server does not need it: it sends with
  /// MSG_NOSIGNAL.
  ~ServerStart() { ::sigaction(SIGPIPE, &sigpipe_, nullptr); }
  ServerStart(const ServerStart&) = delete;
  ServerStart& operator=(const ServerStart&) = delete;

  const CivetCallbacks& callbacks() const noexcept { return callbacks_; }
  /// Waits until that number of threads runs, for at most 2 s: the system may have refused one.
  static void wait_for_threads(std::size_t threads) {
    const MutexLock lock(mutex_);
    started_.wait_for(mutex_, std::chrono::seconds(2),
                      [=]() VCAP_REQUIRES(mutex_) { return threads_ == threads; });
  }
  static std::string message() {
    const MutexLock lock(mutex_);
    return message_;
  }

 private:
  inline static Mutex whole_;
  inline static Mutex mutex_;
  inline static CondVar started_;
  inline static std::size_t threads_ VCAP_GUARDED_BY(mutex_) = 0;
  inline static std::string message_ VCAP_GUARDED_BY(mutex_){};

  const MutexLock alone_{whole_};
  struct sigaction sigpipe_ {};
  CivetCallbacks callbacks_{};
};

std::unique_ptr<prometheus::Exposer> listen(const Address& address) {
  constexpr std::size_t kWorkers = 2;
  const ServerStart start;
  try {
    const std::vector<std::string> options{
        "listening_ports", address.host + ":" + std::to_string(address.port), "num_threads",
        std::to_string(kWorkers),
        // A client that connects and sends nothing occupies a worker for this time.
        "request_timeout_ms", "3000"};
    auto server = std::make_unique<prometheus::Exposer>(options, &start.callbacks());
    start.wait_for_threads(kWorkers + 1);  // plus the thread that accepts
    return server;
  } catch (const std::exception& thrown) {
    const std::string told = start.message();
    fail_listening(address.given, (told.empty() ? thrown.what() : told) +
                                      "; choose an address of this machine and another port, or "
                                      "port 0 for any free port");
  }
}

/// Connects and disconnects.
void knock(const sockaddr_in& address) noexcept {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return;
  static_cast<void>(
      ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address));
  ::close(descriptor);
}

}  // namespace

struct MetricsServer::Impl {
  Impl(const Pipeline& pipeline, const std::string& host_and_port)
      : metrics(std::make_shared<PipelineMetrics>(pipeline)) {
    const Address address = resolve(host_and_port);
    socket = address.socket;
    server = listen(address);
    server->RegisterCollectable(metrics);
    socket.sin_port = htons(static_cast<std::uint16_t>(server->GetListeningPorts().at(0)));
  }
  ~Impl() {
    // The server checks whether to end when a client connects, and otherwise only every two
    // seconds.
    const std::jthread visitor([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        knock(socket);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
    server.reset();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const std::shared_ptr<prometheus::Collectable> metrics;
  sockaddr_in socket{};
  std::unique_ptr<prometheus::Exposer> server{};
};

MetricsServer::MetricsServer(const Pipeline& pipeline, const std::string& host_and_port)
    : impl_(std::make_unique<Impl>(pipeline, host_and_port)) {}

MetricsServer::~MetricsServer() = default;

std::uint16_t MetricsServer::port() const noexcept { return ntohs(impl_->socket.sin_port); }

}  // namespace vcap
