// SPDX-License-Identifier: Apache-2.0
#include "harness/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>
#include <new>

namespace vcap::model {
namespace {

constexpr std::size_t kStack = 256 * 1024;

// The fiber that is being made. It is global, because makecontext cannot pass pointers.
Fiber* newborn = nullptr;
ucontext_t maker;

}  // namespace

void switch_context(Context& from, Context& to) noexcept {
  std::memcpy(from.exceptions.data(), abi::__cxa_get_globals(), from.exceptions.size());
  // Not swapcontext: it asks the kernel for the signal mask each time, and a search switches
  // millions of times.
  if (_setjmp(from.registers) == 0) _longjmp(to.registers, 1);
  std::memcpy(abi::__cxa_get_globals(), from.exceptions.data(), from.exceptions.size());
}

Fiber::Fiber() {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const memory = ::mmap(nullptr, kStack + page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<std::byte*>(memory);
  ::mprotect(memory_, page, PROT_NONE);  // makes an overflow crash

  ucontext_t start;
  ::getcontext(&start);
  start.uc_stack.ss_sp = memory_ + page;
  start.uc_stack.ss_size = kStack;
  start.uc_link = nullptr;
  ::makecontext(&start, &Fiber::enter, 0);
  newborn = this;
  ::swapcontext(&maker, &start);
}

Fiber::~Fiber() { ::munmap(memory_, kStack + static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))); }

void Fiber::enter() {
  Fiber* const self = newborn;
  if (_setjmp(self->context_.registers) == 0) ::setcontext(&maker);
  for (;;) {
    // A body begins without any exceptions in progress.
    std::memset(abi::__cxa_get_globals(), 0, self->context_.exceptions.size());
    self->body_();
  }
}

}  // namespace vcap::model
