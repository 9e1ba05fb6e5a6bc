// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vcap/batching/batch_executor.hpp"

namespace vcap {

template <class Input, class Output>
Output BatchExecutor<Input, Output>::Request::take() {
  if (this->error) std::rethrow_exception(std::move(this->error));
  return std::move(*output);
}

/// A request whose sender holds a future; it deletes itself when answered.
template <class Input, class Output>
class BatchExecutor<Input, Output>::FutureCall final : public detail::BatchCall {
 public:
  explicit FutureCall(Input&& input) : input_(std::move(input)) {
    request_.input = &input_;
    this->add(request_);
  }
  ~FutureCall() override = default;

  std::future<Output> future() { return promise_.get_future(); }

 private:
  void answered() noexcept override {
    try {
      if (request_.error)
        promise_.set_exception(std::move(request_.error));
      else
        promise_.set_value(std::move(*request_.output));
    } catch (...) {  // the output's move
      promise_.set_exception(std::current_exception());
    }
    delete this;
  }

  Input input_;
  Request request_{};
  std::promise<Output> promise_{};
};

template <class Input, class Output>
class BatchExecutor<Input, Output>::Runner final : public detail::BatchRunner {
 public:
  Runner(const Predict& predict, bool isolate) : predict_(predict), isolate_(isolate) {}

  void run(std::span<detail::BatchRequest* const> batch) noexcept override {
    try {
      gather(batch);
      predict(0, inputs_.size());
    } catch (...) {  // no memory
      for (detail::BatchRequest* request : batch)
        if (Request* typed = static_cast<Request*>(request); !typed->output && !typed->error)
          typed->fail(std::current_exception());
    }
    inputs_.clear();
    requests_.clear();
  }

 private:
  // An input whose move throws fails alone.
  void gather(std::span<detail::BatchRequest* const> batch) {
    inputs_.reserve(batch.size());
    requests_.reserve(batch.size());
    for (detail::BatchRequest* request : batch) {
      Request* typed = static_cast<Request*>(request);
      try {
        inputs_.push_back(std::move(*typed->input));
        requests_.push_back(typed);
      } catch (...) {
        typed->fail(std::current_exception());
      }
    }
  }

  void predict(std::size_t begin, std::size_t end) {
    if (begin == end) return;
    const std::exception_ptr failure = try_predict(begin, end);
    if (!failure) return;
    if (isolate_ && end - begin > 1) {
      const std::size_t middle = begin + (end - begin) / 2;
      predict(begin, middle);
      predict(middle, end);
      return;
    }
    for (std::size_t i = begin; i < end; ++i) requests_[i]->fail(failure);
  }

  std::exception_ptr try_predict(std::size_t begin, std::size_t end) {
    try {
      std::vector<Output> outputs =
          predict_(std::span<const Input>(inputs_.data() + begin, end - begin));
      if (outputs.size() != end - begin)
        return detail::wrong_result_count(outputs.size(), end - begin);
      for (std::size_t i = begin; i < end; ++i) keep(*requests_[i], outputs[i - begin]);
    } catch (...) {
      return std::current_exception();
    }
    return {};
  }

  // An output whose move throws fails alone. Forwarded, since std::vector<bool> gives a proxy.
  template <class Element>
  void keep(Request& request, Element&& output) noexcept {
    try {
      request.output.emplace(std::move(output));
    } catch (...) {
      request.fail(std::current_exception());
    }
  }

  const Predict& predict_;
  const bool isolate_;
  std::vector<Input> inputs_{};
  std::vector<Request*> requests_{};
};

template <class Input, class Output>
BatchExecutor<Input, Output>::BatchExecutor(Predict predict, BatchPolicy policy)
    : predict_(std::move(predict)),
      core_(predict_ ? detail::BatchRunnerFactory([this, isolate = policy.isolate_failures] {
              return std::make_unique<Runner>(predict_, isolate);
            })
                     : nullptr,
            policy) {}

template <class Input, class Output>
std::future<Output> BatchExecutor<Input, Output>::submit(Input input, RequestOptions options) {
  auto call = std::make_unique<FutureCall>(std::move(input));
  std::future<Output> future = call->future();
  core_.send(*call, options);
  call.release();  // deletes itself when answered
  return future;
}

template <class Input, class Output>
Output BatchExecutor<Input, Output>::run(Input input, RequestOptions options) {
  Request request;
  request.input = &input;
  detail::BlockingBatchCall call;
  call.add(request);
  core_.send_and_wait(call, options);
  return request.take();
}

template <class Input, class Output>
std::vector<Output> BatchExecutor<Input, Output>::run_all(std::vector<Input> inputs,
                                                          RequestOptions options) {
  std::vector<Output> outputs;
  if (inputs.empty()) return outputs;
  outputs.reserve(inputs.size());
  std::vector<Request> requests(inputs.size());
  detail::BlockingBatchCall call;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    requests[i].input = &inputs[i];
    call.add(requests[i]);
  }
  core_.send_and_wait(call, options);
  for (Request& request : requests) outputs.push_back(request.take());
  return outputs;
}

}  // namespace vcap
