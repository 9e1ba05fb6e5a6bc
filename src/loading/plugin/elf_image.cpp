// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/elf_image.hpp"

#include <algorithm>
#include <bit>

namespace vcap {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kAddressSpace = std::uint64_t{1} << 47;
// More than any linker writes; these limit what a damaged file can cost.
constexpr std::uint64_t kMostSegments = 64;
constexpr std::uint64_t kMostDynamic = 1024;
constexpr std::size_t kLongestText = 4096;

/// The linker maps whole pages, so two segments must not share one.
std::uint64_t end_page(const Elf64_Phdr& segment) {
  return (segment.p_vaddr + segment.p_memsz + kPage - 1) / kPage * kPage;
}
std::uint64_t first_page(const Elf64_Phdr& segment) { return segment.p_vaddr / kPage * kPage; }

}  // namespace

void invalid_library(const std::string& text) { throw ElfFault(ErrorCode::invalid_library, text); }

void unsafe_library(const std::string& text) { throw ElfFault(ErrorCode::unsafe_library, text); }

void ElfImage::ends_early(const char* what) {
  invalid_library(std::string("is damaged: its ") + what + " is beyond the end of the file");
}

ElfImage::ElfImage(Bytes file, std::optional<unsigned> machine) : file_(file) {
  if (file.size() < sizeof(Elf64_Ehdr) || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0)
    invalid_library("is not an ELF file");
  const auto header = record<Elf64_Ehdr>(file, 0, "header");
  check_header(header, machine);
  read_segments(header);
  const auto table = one(DT_STRTAB);
  const auto size = one(DT_STRSZ);
  if (!table || !size) invalid_library("has no table of names (DT_STRTAB, DT_STRSZ)");
  strings_ = at(*table, *size, "table of names");
}

void ElfImage::check_header(const Elf64_Ehdr& header, std::optional<unsigned> machine) const {
  if (header.e_ident[EI_CLASS] != ELFCLASS64) invalid_library("is not a 64-bit library");
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) invalid_library("is not little-endian");
  if (header.e_ident[EI_VERSION] != EV_CURRENT || header.e_version != EV_CURRENT)
    invalid_library("has an ELF version other than 1");
  if (header.e_ident[EI_OSABI] != ELFOSABI_SYSV && header.e_ident[EI_OSABI] != ELFOSABI_GNU)
    invalid_library("is for another operating system (ELF OSABI " +
                    std::to_string(header.e_ident[EI_OSABI]) + ")");
  if (header.e_type != ET_DYN)
    invalid_library("has ELF type " + std::to_string(header.e_type) + ", not a shared library (3)");
  if (machine && header.e_machine != *machine)
    invalid_library("is for processor " + std::to_string(header.e_machine) +
                    " (ELF e_machine), not " + std::to_string(*machine));
  if (header.e_ehsize != sizeof(Elf64_Ehdr) || header.e_phentsize != sizeof(Elf64_Phdr))
    invalid_library("is damaged: the sizes in its header are wrong");
  if (header.e_phnum == 0 || header.e_phnum > kMostSegments)
    invalid_library("is damaged: it has " + std::to_string(header.e_phnum) + " segments");
  if (header.e_phoff % alignof(Elf64_Phdr) != 0)
    invalid_library("is damaged: its list of segments is not aligned");
}

void ElfImage::read_segments(const Elf64_Ehdr& header) {
  std::optional<Elf64_Phdr> dynamic;
  std::optional<Elf64_Phdr> stack;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    // No overflow: if the offset is beyond the file, record() has already thrown at i = 0.
    const auto segment =
        record<Elf64_Phdr>(file_, header.e_phoff + i * sizeof(Elf64_Phdr), "list of segments");
    if (segment.p_type == PT_LOAD) add_load(segment);
    if (segment.p_type == PT_TLS &&
        (segment.p_filesz > segment.p_memsz || segment.p_memsz > kAddressSpace ||
         (segment.p_align != 0 && !std::has_single_bit(segment.p_align))))
      invalid_library("is damaged: its thread-local data has an impossible size");
    if (segment.p_type == PT_GNU_STACK) stack = segment;
    if (segment.p_type != PT_DYNAMIC) continue;
    if (dynamic) invalid_library("is damaged: it has two dynamic sections");
    dynamic = segment;
  }
  if (!stack)
    unsafe_library(
        "does not say that its stack is not executable (no PT_GNU_STACK); link it with "
        "-z noexecstack");
  if ((stack->p_flags & PF_X) != 0)
    unsafe_library(
        "requires an executable stack; link it with -z noexecstack, and check that its assembly "
        "sources have a .note.GNU-stack section");
  if (loads_.empty()) invalid_library("is damaged: it has nothing to load");
  if (!dynamic) invalid_library("has no dynamic section");
  for (const Elf64_Phdr& load : loads_)
    if ((load.p_flags & PF_W) != 0 && (load.p_flags & PF_X) != 0)
      unsafe_library(
          "has memory that is both writable and executable; link it without -N (--omagic)");
  read_dynamic(*dynamic);
}

void ElfImage::add_load(const Elf64_Phdr& segment) {
  if (segment.p_filesz > segment.p_memsz)
    invalid_library("is damaged: a segment is larger in the file than in memory");
  if (segment.p_offset > file_.size() || file_.size() - segment.p_offset < segment.p_filesz)
    invalid_library("is damaged: it ends before its segments do");
  if (segment.p_vaddr > kAddressSpace || segment.p_memsz > kAddressSpace - segment.p_vaddr)
    invalid_library("is damaged: a segment is beyond the address space");
  if (segment.p_align < kPage || !std::has_single_bit(segment.p_align) ||
      (segment.p_vaddr - segment.p_offset) % segment.p_align != 0)
    invalid_library("is damaged: a segment is not aligned to pages");
  if (!loads_.empty() && first_page(segment) < end_page(loads_.back()))
    invalid_library("is damaged: its segments overlap or are out of order");
  loads_.push_back(segment);
}

void ElfImage::read_dynamic(const Elf64_Phdr& segment) {
  const Bytes bytes = at(segment.p_vaddr, segment.p_filesz, "dynamic section");
  // The linker uses the address, other readers the offset; both must see the same.
  if (static_cast<std::uint64_t>(bytes.data() - file_.data()) != segment.p_offset)
    invalid_library("is damaged: its dynamic section differs by address and by file offset");
  for (std::uint64_t i = 0; i < kMostDynamic; ++i) {
    const auto entry = record<Elf64_Dyn>(bytes, i * sizeof(Elf64_Dyn), "dynamic section's end");
    if (entry.d_tag == DT_NULL) return;
    dynamic_[entry.d_tag].push_back(entry.d_un.d_val);
  }
  invalid_library("is damaged: its dynamic section has more than " + std::to_string(kMostDynamic) +
                  " entries");
}

std::span<const std::uint64_t> ElfImage::all(std::int64_t tag) const noexcept {
  const auto found = dynamic_.find(tag);
  if (found == dynamic_.end()) return {};
  return found->second;
}

std::optional<std::uint64_t> ElfImage::one(std::int64_t tag) const {
  const auto values = all(tag);
  if (values.size() > 1)
    invalid_library("is damaged: its dynamic section has entry " + std::to_string(tag) + " twice");
  return values.empty() ? std::nullopt : std::optional(values.front());
}

ElfImage::Bytes ElfImage::at(std::uint64_t address, std::uint64_t size, const char* what) const {
  const auto load = std::ranges::find_if(loads_, [address](const Elf64_Phdr& one) {
    return address >= one.p_vaddr && address - one.p_vaddr < one.p_filesz;
  });
  if (load == loads_.end()) ends_early(what);
  const std::uint64_t inside = address - load->p_vaddr;
  const std::uint64_t left = load->p_filesz - inside;
  if (size == kToTheEnd) size = left;
  if (size > left) ends_early(what);
  return file_.subspan(load->p_offset + inside, size);
}

std::string ElfImage::text(std::uint64_t offset) const {
  if (offset >= strings_.size()) ends_early("name");
  const Bytes rest = strings_.subspan(offset, std::min(strings_.size() - offset, kLongestText));
  const auto end = std::ranges::find(rest, std::byte{0});
  if (end == rest.end()) invalid_library("is damaged: a name in it is not terminated");
  return {reinterpret_cast<const char*>(rest.data()), static_cast<std::size_t>(end - rest.begin())};
}

bool ElfImage::is_code(std::uint64_t address) const noexcept {
  return std::ranges::any_of(loads_, [address](const Elf64_Phdr& one) {
    return (one.p_flags & PF_X) != 0 && address >= one.p_vaddr &&
           address - one.p_vaddr < one.p_filesz;
  });
}

}  // namespace vcap
