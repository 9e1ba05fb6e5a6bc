// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

namespace vcap::test {

/// Makes a call without root's rights, in its own thread. The direct system call changes only this
/// thread; the C library's function would change all. If the process does not
/// have root's rights, it only makes the call.
template <class Call>
void as_nobody(Call call) {
  std::thread([&call] {
    constexpr int kNobody = 65534;
    if (::geteuid() == 0) {
      ASSERT_EQ(::syscall(SYS_setresuid, -1, kNobody, -1), 0);
    }
    call();
  }).join();
}

}  // namespace vcap::test
