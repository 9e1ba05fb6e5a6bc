// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "loading/plugin/elf_record.hpp"

namespace vcap {

/// The program headers of a shared library: what the linker maps, and with which rights.
///
/// Every address that the linker takes from them is checked against the file, so damaged bytes give
/// only ElfFault. Thread safety: thread-safe, since it is constant.
class ElfSegments {
 public:
  /// Throws ElfFault (invalid_library, unsafe_library). `file` must outlive this.
  ElfSegments(ElfBytes file, const Elf64_Ehdr& header);

  /// `size` bytes at an address; `what` appears in messages, such as "symbol table". Throws if they
  /// are not in one segment's part of the file.
  ElfBytes at(std::uint64_t address, std::uint64_t size, const char* what) const;
  /// All bytes from an address to the end of its segment's part of the file.
  ElfBytes from(std::uint64_t address, const char* what) const;

  /// Whether an address is in an executable segment's part of the file.
  bool is_code(std::uint64_t address) const noexcept;
  /// Whether these addresses are in the memory of one writable segment.
  bool is_writable(std::uint64_t address, std::uint64_t size) const noexcept;
  /// Whether an address is between the library's first and last page, its end included.
  bool is_mapped(std::uint64_t address) const noexcept;

  /// The dynamic section's bytes and address.
  ElfBytes dynamic() const { return at(dynamic_->p_vaddr, dynamic_->p_filesz, "dynamic section"); }
  /// The bytes of a thread's copy of the thread-local variables; 0 if there are none.
  std::uint64_t thread_data_size() const noexcept { return thread_ ? thread_->p_memsz : 0; }
  /// What the linker and unwinders still read once the library is mapped. Throws ElfFault
  /// (invalid_library) if a part of it overlaps the dynamic section.
  ElfRanges tables() const;

 private:
  void collect(const Elf64_Ehdr& header);
  void take(const Elf64_Phdr& segment);
  void check_kinds() const;
  void check_loads() const;
  void check_dynamic() const;
  void check_thread_data() const;
  void check_read_only_part() const;
  void check_headers(const Elf64_Ehdr& header) const;
  void check_headers_in_memory() const;
  void check_notes() const;
  const Elf64_Phdr* load_of(std::uint64_t address) const noexcept;

  ElfBytes file_;
  std::vector<Elf64_Phdr> loads_{};  ///< ascending, not overlapping
  std::vector<Elf64_Phdr> notes_{};
  std::optional<Elf64_Phdr> dynamic_{};
  std::optional<Elf64_Phdr> stack_{};
  std::optional<Elf64_Phdr> thread_{};
  std::optional<Elf64_Phdr> read_only_{};  ///< after relocation (PT_GNU_RELRO)
  std::optional<Elf64_Phdr> headers_{};
  std::optional<Elf64_Phdr> frames_{};
  std::uint64_t headers_offset_ = 0;
  std::uint64_t headers_size_ = 0;
};

}  // namespace vcap
