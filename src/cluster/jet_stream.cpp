// SPDX-License-Identifier: Apache-2.0
#include "cluster/jet_stream.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "base/text.hpp"
#include "base/thread_annotations.hpp"
#include "files/strict_json.hpp"
#include "vcap/base/error.hpp"
#include "vcap/model/uuid.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr const char* kApi = "$JS.API.";
/// The server's error codes, which its documentation lists.
constexpr int kWrongLastSequence = 10071;
constexpr int kWrongLastSequenceOfReplicas = 10164;
constexpr int kNoMessage = 10037;
constexpr int kNotErased = 10057;
constexpr int kNotEnabled = 10076;
constexpr int kNotEnabledForAccount = 10039;
constexpr int kNoSequence = 10043;
constexpr int kNoConsumerStore = 10012;
/// Messages that store_each() has in flight at a time.
constexpr std::size_t kWindow = 4'000;
/// Messages that one request of all() gives.
constexpr std::size_t kPage = 500;
/// They are there already; unless some were removed meanwhile.
constexpr milliseconds kPageWait{500};
/// How often all() reads what has come meanwhile.
constexpr int kMostRounds = 100;
/// How much later than it should an answer of fetch() may come.
constexpr milliseconds kLate{250};
constexpr milliseconds kPause{100};
/// How often the same message may be lost.
constexpr int kMostLosses = 3;
/// A consumer that gives nothing for so long is made anew: some stall until then.
constexpr std::chrono::seconds kStallTime{20};
/// How long a request after a stop waits for its answer.
constexpr milliseconds kLastWait{500};

int error_code(const json& answer) {
  const auto error = answer.find("error");
  return error == answer.end() ? 0 : error->value("err_code", error->value("code", -1));
}

/// Whether the server means that a repetition may succeed: it is busy, has no leader, or chose one
/// whose disk is full.
bool is_passing(const json& answer) {
  return answer.contains("error") &&
         (answer["error"].value("code", 0) == 503 || error_code(answer) == kNoConsumerStore);
}

[[noreturn]] void refuse(const std::string& what, const json& answer) {
  throw ClusterError(ErrorCode::broker_refused,
                     what + " is refused by the broker: " +
                         printable(answer["error"].value("description", "without a reason")) +
                         " (error " + std::to_string(error_code(answer)) + ")");
}

/// "2026-11-27T17:32:27.789990544Z" as time since 1970.
std::chrono::nanoseconds parse_time(const std::string& text) {
  std::tm parts{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr)
    throw ClusterError(ErrorCode::invalid_message,
                       "the broker's time is not in the form of RFC 3339: " + quote(text));
  std::int64_t nanoseconds = 0;
  if (*rest == '.') {
    std::int64_t unit = 100'000'000;
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest, unit /= 10)
      nanoseconds += (*rest - '0') * unit;
  }
  return std::chrono::seconds(::timegm(&parts)) + std::chrono::nanoseconds(nanoseconds);
}

std::string format_time(std::chrono::nanoseconds time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const std::time_t since_1970 = whole.count();
  std::tm parts{};
  ::gmtime_r(&since_1970, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string fraction = std::to_string((time - whole).count());
  return text.data() + ('.' + std::string(9 - fraction.size(), '0')) + fraction + 'Z';
}

/// The server's answers are small and flat, but who has its port may send anything.
json parse(const std::string& what, const std::string& text) {
  try {
    json parsed = parse_strictly(text);
    if (parsed.is_object()) return parsed;
  } catch (const InvalidArgument&) {
  }
  throw ClusterError(ErrorCode::invalid_message,
                     what + ": the broker's answer is not an object of JSON: " + quote(text));
}

std::string from_base64(const std::string& text) {
  std::string bytes(text.size(), '\0');
  std::size_t size = 0;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                        text.size(), nullptr, &size, nullptr, sodium_base64_VARIANT_ORIGINAL) != 0)
    throw ClusterError(ErrorCode::invalid_message, "the broker's answer has invalid Base64");
  bytes.resize(size);
  return bytes;
}

BrokerMessage publication(const std::string& subject, std::string body,
                          std::optional<std::uint64_t> last) {
  BrokerMessage message{.subject = subject, .body = std::move(body)};
  // If it is sent again, the server knows it by its id.
  message.headers.emplace_back("Nats-Msg-Id", Uuid::random().to_string());
  if (last)
    message.headers.emplace_back("Nats-Expected-Last-Subject-Sequence", std::to_string(*last));
  return message;
}

bool is_conflict(const json& answer) {
  const int code = error_code(answer);
  return code == kWrongLastSequence || code == kWrongLastSequenceOfReplicas;
}

/// Throws for an error; `nullopt` if the last message is another one.
std::optional<std::uint64_t> stored_as(const std::string& subject, const json& answer) {
  if (is_conflict(answer)) return std::nullopt;
  if (answer.contains("error")) refuse("a message for " + quote(subject), answer);
  return answer.at("seq").get<std::uint64_t>();
}

}  // namespace

JetStream::JetStream(Broker& broker, const ClusterSettings& settings, std::stop_token stop)
    : broker_(broker),
      timeout_(settings.timeout),
      patience_(settings.patience),
      stop_(std::move(stop)) {}

/// Repeats an operation that throws ClusterError (broker_unreachable).
template <class Operation>
auto JetStream::with_patience(const Operation& operation) {
  const auto end = std::chrono::steady_clock::now() + patience_;
  for (;;) {
    try {
      return operation();
    } catch (const ClusterError& error) {
      if (error.code() != ErrorCode::broker_unreachable || stop_.stop_requested() ||
          std::chrono::steady_clock::now() + kPause >= end)
        throw;
    }
    std::this_thread::sleep_for(kPause);
  }
}

BrokerMessage JetStream::request(const BrokerMessage& message) {
  return with_patience([&] {
    BrokerMessage answer =
        broker_.request(message, stop_.stop_requested() ? std::min(timeout_, kLastWait) : timeout_);
    // Only few answers are parsed twice: an error is short.
    if (answer.body.find("\"error\"") != std::string::npos &&
        is_passing(parse(message.subject, answer.body)))
      throw ClusterError(ErrorCode::broker_unreachable,
                         "a request to " + quote(message.subject) +
                             ": the broker has no leader now, or is too busy");
    return answer;
  });
}

bool JetStream::is_enabled(bool is_expected) {
  const auto ask = [this] {
    const std::string operation = "INFO";
    const json answer =
        parse(operation, broker_.request({.subject = kApi + operation}, timeout_).body);
    const int code = error_code(answer);
    if (code == kNotEnabled || code == kNotEnabledForAccount) return false;
    if (is_passing(answer))
      throw ClusterError(ErrorCode::broker_unreachable, "JetStream has no leader now");
    if (code != 0) refuse(operation, answer);
    return true;
  };
  if (is_expected) return with_patience(ask);
  try {
    return ask();
  } catch (const ClusterError& error) {
    if (error.code() != ErrorCode::broker_unreachable) throw;
    return false;
  }
}

json JetStream::ask(const std::string& operation, const json& request) {
  const BrokerMessage answer = this->request(
      {.subject = kApi + operation, .body = request.is_null() ? std::string() : request.dump()});
  return parse(operation, answer.body);
}

json JetStream::demand(const std::string& operation, const json& request) {
  json answer = ask(operation, request);
  if (answer.contains("error")) refuse(operation, answer);
  return answer;
}

std::optional<std::uint64_t> JetStream::store(const std::string& subject, const std::string& body,
                                              std::optional<std::uint64_t> last) {
  return store(publication(subject, body, last));
}

std::optional<std::uint64_t> JetStream::store(BrokerMessage message) {
  for (int i = 0;; ++i) {
    const json answer = parse(message.subject, request(message).body);
    const auto sequence = stored_as(message.subject, answer);
    if (!sequence || !answer.value("duplicate", false)) return sequence;
    // A new leader may know the ids of messages that were lost with the one before.
    const auto there = next(answer.at("stream"), message.subject, *sequence);
    if (there && there->sequence == *sequence) return sequence;
    if (i == kMostLosses)
      throw ClusterError(ErrorCode::broker_unreachable,
                         "a message for " + quote(message.subject) + " is lost again and again");
    message.headers.front().second = Uuid::random().to_string();
  }
}

void JetStream::store_last(const std::string& subject, const std::string& body) {
  BrokerMessage message = publication(subject, body, std::nullopt);
  message.headers.emplace_back("Nats-Rollup", "sub");
  stored_as(subject, parse(subject, request(message).body));
}

std::vector<std::optional<std::uint64_t>> JetStream::store_each(std::span<NewMessage> messages) {
  if (messages.empty()) return {};
  // A request fails at once if the connection is closed.
  if (messages.size() == 1)
    return {store(messages.front().subject, messages.front().body, messages.front().last)};
  struct Answers {
    Mutex mutex;
    CondVar changed;
    std::map<std::size_t, std::string> bodies VCAP_GUARDED_BY(mutex);
    std::size_t expected VCAP_GUARDED_BY(mutex) = 0;
  };
  const auto answers = std::make_shared<Answers>();
  const std::string inbox = broker_.new_inbox();
  const auto subscription =
      broker_.subscribe(inbox + ".*", [answers, prefix = inbox.size() + 1](BrokerMessage message) {
        std::size_t number = 0;
        const char* const text = message.subject.data();
        std::from_chars(text + prefix, text + message.subject.size(), number);
        const MutexLock lock(answers->mutex);
        answers->bodies.emplace(number, std::move(message.body));
        if (answers->bodies.size() == answers->expected) answers->changed.notify_all();
      });
  std::vector<std::optional<std::uint64_t>> stored(messages.size());
  for (std::size_t begin = 0; begin < messages.size(); begin += kWindow) {
    const std::size_t end = std::min(begin + kWindow, messages.size());
    std::vector<BrokerMessage> sent;
    {
      const MutexLock lock(answers->mutex);
      answers->expected = end - begin;
    }
    for (std::size_t i = begin; i < end; ++i) {
      sent.push_back(
          publication(messages[i].subject, std::move(messages[i].body), messages[i].last));
      sent.back().reply = inbox + '.' + std::to_string(i);
      broker_.publish(sent.back());
    }
    std::map<std::size_t, std::string> bodies;
    {
      const MutexLock lock(answers->mutex);
      // After the loss of a connection, no answers come.
      for (auto waited = milliseconds(0);
           answers->bodies.size() < end - begin && waited < timeout_ && broker_.is_connected();
           waited += kPause)
        answers->changed.wait_for(answers->mutex, kPause, [&]() VCAP_REQUIRES(answers->mutex) {
          return answers->bodies.size() == end - begin;
        });
      bodies = std::exchange(answers->bodies, {});
    }
    for (std::size_t i = begin; i < end; ++i) {
      const auto found = bodies.find(i);
      const json answer = found == bodies.end() || found->second.empty()
                              ? json()
                              : parse(messages[i].subject, found->second);
      if (answer.is_null() || is_passing(answer)) {
        sent[i - begin].reply.clear();
        stored[i] = store(sent[i - begin]);
      } else {
        stored[i] = stored_as(messages[i].subject, answer);
      }
      messages[i].body = std::move(sent[i - begin].body);
    }
  }
  return stored;
}

std::optional<StoredMessage> JetStream::last(const std::string& stream,
                                             const std::string& subject) {
  return get(stream, subject, {{"last_by_subj", subject}});
}

std::optional<StoredMessage> JetStream::next(const std::string& stream, const std::string& subject,
                                             std::uint64_t from) {
  return get(stream, subject, {{"next_by_subj", subject}, {"seq", from}});
}

std::optional<StoredMessage> JetStream::get(const std::string& stream, const std::string& subject,
                                            const json& which) {
  const json answer = ask("STREAM.MSG.GET." + stream, which);
  if (error_code(answer) == kNoMessage) return std::nullopt;
  if (answer.contains("error")) refuse("reading " + quote(subject), answer);
  const json& message = answer.at("message");
  return StoredMessage{.subject = subject,
                       .body = from_base64(message.value("data", "")),
                       .sequence = message.at("seq"),
                       .time = parse_time(message.at("time"))};
}

std::vector<StoredMessage> JetStream::all(const std::string& stream, const std::string& filter) {
  std::vector<StoredMessage> messages;
  each(stream, filter, [&](const StoredMessage& message) { messages.push_back(message); });
  return messages;
}

void JetStream::each(const std::string& stream, const std::string& filter,
                     const std::function<void(const StoredMessage&)>& visit) {
  StreamReader reader(*this, stream, filter);
  // A message that is replaced while others are read comes again at the end; so this goes on until
  // it has read the last one. The server's number of pending messages (2.9) stays too high if
  // messages are replaced, so it alone would never end.
  for (int round = 0; round < kMostRounds && reader.pending() > 0; ++round) {
    const std::uint64_t end = last_sequence(stream);
    if (reader.last() >= end) return;
    while (reader.last() < end && reader.pending() > 0) {
      const std::vector<StoredMessage> page =
          reader.next(std::min<std::uint64_t>(kPage, reader.pending()), kPageWait);
      for (const StoredMessage& message : page) visit(message);
      // The rest was removed meanwhile, or the server has lost the request.
      if (page.empty()) reader.update_pending();
    }
  }
}

std::uint64_t JetStream::count(const std::string& stream, const std::string& filter) {
  return StreamReader(*this, stream, filter).pending();
}

std::chrono::nanoseconds JetStream::time(const std::string& stream) {
  return StreamReader(*this, stream, {}).created();
}

StreamPlace JetStream::end(const std::string& stream) {
  const json info = demand("STREAM.INFO." + stream, nullptr);
  const json& state = info.at("state");
  const std::uint64_t sequence = state.at("last_seq");
  // Of a stream without messages, the server may say the year 1.
  if (state.at("messages") == 0) return {.sequence = sequence};
  return {.sequence = sequence, .time = parse_time(state.at("last_ts"))};
}

bool JetStream::erase(const std::string& stream, std::uint64_t sequence) {
  const json answer = ask("STREAM.MSG.DELETE." + stream, {{"seq", sequence}, {"no_erase", true}});
  const int code = error_code(answer);
  if (code == kNoMessage || code == kNoSequence) return false;
  // That has many reasons.
  if (code == kNotErased &&
      error_code(ask("STREAM.MSG.GET." + stream, {{"seq", sequence}})) == kNoMessage)
    return false;
  if (code != 0) refuse("removing a message of " + stream, answer);
  return true;
}

void JetStream::purge(const std::string& stream, const std::string& filter) {
  demand("STREAM.PURGE." + stream, {{"filter", filter}});
}

std::vector<DeliveredMessage> JetStream::fetch(const std::string& stream,
                                               const std::string& consumer, std::size_t most,
                                               milliseconds wait) {
  // Not "no_wait": if another request takes the last message, the server (2.9) never answers.
  const json request = {{"batch", most}, {"expires", std::chrono::nanoseconds(wait).count()}};
  std::vector<BrokerMessage> answers;
  try {
    answers = broker_.gather({.subject = kApi + ("CONSUMER.MSG.NEXT." + stream + '.') + consumer,
                              .body = request.dump()},
                             most, wait + kLate);
  } catch (const ClusterError& error) {
    if (error.code() != ErrorCode::broker_unreachable) throw;
    // The server (2.9) sometimes answers nothing at all. So see whether it answers anything.
    pending(stream, consumer);
  }
  std::vector<DeliveredMessage> messages;
  for (BrokerMessage& answer : answers)
    if (answer.status().empty()) messages.push_back(delivered(std::move(answer)));
  return messages;
}

std::uint64_t JetStream::pending(const std::string& stream, const std::string& consumer) {
  const json info = ask("CONSUMER.INFO." + stream + '.' + consumer, nullptr);
  if (info.contains("error"))
    throw ClusterError(ErrorCode::object_missing,
                       "consumer " + consumer + " of stream " + stream + " does not exist");
  return info.at("num_pending");
}

void JetStream::answer(const DeliveredMessage& message, const std::string& answer) {
  broker_.publish({.subject = message.acknowledge, .body = answer});
}

ClusterSettings without_patience(ClusterSettings settings) {
  settings.patience = milliseconds(0);
  return settings;
}

StreamReader::StreamReader(JetStream& jet_stream, std::string stream, std::string filter,
                           StreamPlace after)
    : jet_stream_(jet_stream),
      stream_(std::move(stream)),
      filter_(std::move(filter)),
      last_(after) {
  create();
}

StreamReader::~StreamReader() { remove_consumer(); }

void StreamReader::remove_consumer() noexcept {
  if (consumer_.empty()) return;
  try {
    // Without an answer. If it is lost, the server deletes the consumer later.
    jet_stream_.broker().publish(
        {.subject = kApi + ("CONSUMER.DELETE." + stream_ + '.') + consumer_});
  } catch (const ClusterError&) {
  }
  consumer_.clear();
}

void StreamReader::create() {
  json config = {{"deliver_policy", "all"},
                 {"ack_policy", "none"},
                 {"mem_storage", true},
                 {"num_replicas", 1},
                 // For a process that dies.
                 {"inactive_threshold", 30'000'000'000}};
  if (!filter_.empty()) config["filter_subject"] = filter_;
  const std::uint64_t end = last_.sequence > 0 ? jet_stream_.last_sequence(stream_) : 0;
  const bool is_shorter = end < last_.sequence;
  if (is_shorter && last_.time.count() > 0) {
    config["deliver_policy"] = "by_start_time";
    config["opt_start_time"] = format_time(last_.time + std::chrono::nanoseconds(1));
  } else if (last_.sequence > 0 && end + kMostDrift >= last_.sequence) {
    config["deliver_policy"] = "by_start_sequence";
    config["opt_start_seq"] = last_.sequence + 1;
  }
  const json info = jet_stream_.demand("CONSUMER.CREATE." + stream_,
                                       {{"stream_name", stream_}, {"config", config}});
  remove_consumer();
  consumer_ = info.at("name");
  heard_ = std::chrono::steady_clock::now();
  ++consumers_;
  has_gap_ = false;
  pending_ = info.at("num_pending");
  created_ = parse_time(info.at("created"));
  read_ = 0;
}

void StreamReader::update_pending() {
  const json info = jet_stream_.ask("CONSUMER.INFO." + stream_ + '.' + consumer_, nullptr);
  if (info.contains("error"))
    create();
  else
    pending_ = info.at("num_pending");
}

std::vector<StoredMessage> StreamReader::next(std::size_t most, milliseconds wait) {
  if (has_gap_) create();
  std::vector<StoredMessage> messages;
  std::vector<DeliveredMessage> page;
  try {
    page = jet_stream_.fetch(stream_, consumer_, most, wait);
  } catch (const ClusterError&) {
    // The server may have lost what was delivered, or the consumer. Throws if it is away.
    create();
    return messages;
  }
  const auto now = std::chrono::steady_clock::now();
  if (!page.empty())
    heard_ = now;
  else if (now >= heard_ + kStallTime)
    create();
  for (DeliveredMessage& message : page) {
    // After a gap, something that was delivered did not arrive.
    has_gap_ = message.consumer_sequence != ++read_;
    if (has_gap_) break;
    last_ = {.sequence = message.sequence, .time = std::chrono::nanoseconds(message.time)};
    pending_ = message.pending;
    messages.push_back({std::move(message.subject), std::move(message.body), message.sequence,
                        std::chrono::nanoseconds(message.time)});
  }
  return messages;
}

DeliveredMessage delivered(BrokerMessage message) {
  // $JS.ACK.STREAM.CONSUMER.DELIVERIES.SEQUENCE.CONSUMER-SEQUENCE.TIME.PENDING; later servers may
  // put a domain and an account before STREAM, and more at the end.
  std::vector<std::string_view> parts;
  for (std::string_view rest = message.reply; !rest.empty();) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    parts.push_back(rest.substr(0, dot));
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  const std::size_t first = parts.size() >= 11 ? 6 : 4;
  DeliveredMessage result{.subject = std::move(message.subject), .body = std::move(message.body)};
  const auto number = [&](std::size_t place, auto& value) {
    if (place >= parts.size()) return false;
    const std::string_view text = parts[place];
    return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
  };
  if (!message.reply.starts_with("$JS.ACK.") || !number(first, result.deliveries) ||
      !number(first + 1, result.sequence) || !number(first + 2, result.consumer_sequence) ||
      !number(first + 3, result.time) || !number(first + 4, result.pending))
    throw ClusterError(ErrorCode::invalid_message,
                       "a message on " + quote(result.subject) +
                           " was not delivered by a consumer: its reply is " +
                           quote(message.reply));
  result.acknowledge = std::move(message.reply);
  return result;
}

}  // namespace vcap
