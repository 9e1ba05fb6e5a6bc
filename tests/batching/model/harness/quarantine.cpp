// SPDX-License-Identifier: Apache-2.0
// Replaces the program's operator new and delete.
#include "harness/quarantine.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace {

constexpr int kRubbish = 0xDD;
constexpr std::size_t kMostRubbish = 4096;  // bytes of a block; beyond are only numbers

/// Replaces the beginning of a block in quarantine.
struct Block {
  Block* next;
};

bool active = false;
Block* blocks = nullptr;

void* allocate(std::size_t size, std::size_t alignment) {
  void* const memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(size == 0 ? 1 : size)
          : std::aligned_alloc(alignment, (size + alignment - 1) & ~(alignment - 1));
  return memory ? memory : throw std::bad_alloc();
}

void release(void* memory) noexcept {
  if (!active || !memory) return std::free(memory);
  std::memset(memory, kRubbish, std::min(kMostRubbish, ::malloc_usable_size(memory)));
  blocks = ::new (memory) Block{blocks};
}

}  // namespace

namespace vcap::model {

Quarantine::Quarantine() noexcept { active = true; }

Quarantine::~Quarantine() {
  active = false;
  while (Block* const block = blocks) {
    blocks = block->next;
    std::free(block);
  }
}

}  // namespace vcap::model

void* operator new(std::size_t size) { return allocate(size, 1); }
void* operator new[](std::size_t size) { return allocate(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
