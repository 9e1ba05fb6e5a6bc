// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/elf_segments.hpp"

#include <algorithm>
#include <bit>

namespace vcap {
namespace {

constexpr std::uint64_t kElfPage = 4096;
constexpr std::uint64_t kAddressSpace = std::uint64_t{1} << 47;
// More than any linker writes; these limit what a damaged file can cost.
constexpr std::uint64_t kMostSegments = 64;
constexpr std::uint64_t kMostMappedBytes = std::uint64_t{64} << 30;
constexpr std::uint64_t kMostThreadBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kMostThreadAlignment = std::uint64_t{64} << 10;

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// The linker maps whole pages, so two segments must not share one.
std::uint64_t end_page(const Elf64_Phdr& segment) {
  return rounded_up(segment.p_vaddr + segment.p_memsz, kElfPage);
}
std::uint64_t first_page(const Elf64_Phdr& segment) {
  return segment.p_vaddr / kElfPage * kElfPage;
}

void take_once(std::optional<Elf64_Phdr>& place, const Elf64_Phdr& segment, const char* what) {
  if (place) invalid_library(std::string("is damaged: it has two ") + what);
  place = segment;
}

/// Checks that each note ends within the segment, as the linker assumes for its properties.
void check_note_list(ElfBytes notes, std::uint64_t alignment) {
  constexpr const char* kList = "list of notes (PT_NOTE, PT_GNU_PROPERTY)";
  for (std::uint64_t at = 0; at < notes.size();) {
    const auto note = elf_record<Elf64_Nhdr>(notes, at, kList);
    const std::uint64_t name_end = rounded_up(sizeof(note) + note.n_namesz, alignment);
    const std::uint64_t end = name_end + note.n_descsz;
    if (end > notes.size() - at) ends_early(kList);
    at += rounded_up(end, alignment);
  }
}

}  // namespace

ElfSegments::ElfSegments(ElfBytes file, const Elf64_Ehdr& header) : file_(file) {
  if (header.e_phnum == 0 || header.e_phnum > kMostSegments)
    invalid_library("is damaged: it has " + std::to_string(header.e_phnum) + " segments");
  if (header.e_phoff % alignof(Elf64_Phdr) != 0) damaged_library("list of segments is not aligned");
  collect(header);
  check_kinds();
  check_loads();
  check_dynamic();
  check_thread_data();
  check_read_only_part();
  check_headers(header);
  check_notes();
}

void ElfSegments::collect(const Elf64_Ehdr& header) {
  headers_offset_ = header.e_phoff;
  headers_size_ = header.e_phnum * sizeof(Elf64_Phdr);
  for (std::uint64_t i = 0; i < header.e_phnum; ++i)
    // No overflow: if the offset is beyond the file, elf_record() has already thrown at i = 0.
    take(
        elf_record<Elf64_Phdr>(file_, header.e_phoff + i * sizeof(Elf64_Phdr), "list of segments"));
}

void ElfSegments::take(const Elf64_Phdr& segment) {
  switch (segment.p_type) {
    case PT_LOAD:
      loads_.push_back(segment);
      return;
    case PT_NOTE:
    case PT_GNU_PROPERTY:
      // The linker skips notes of another alignment.
      if (segment.p_align == 4 || segment.p_align == 8) notes_.push_back(segment);
      return;
    case PT_DYNAMIC:
      return take_once(dynamic_, segment, "dynamic sections");
    case PT_TLS:
      return take_once(thread_, segment, "segments of thread-local data");
    case PT_GNU_STACK:
      return take_once(stack_, segment, "descriptions of its stack");
    case PT_GNU_RELRO:
      return take_once(read_only_, segment, "read-only parts (PT_GNU_RELRO)");
    case PT_PHDR:
      return take_once(headers_, segment, "lists of segments (PT_PHDR)");
    case PT_GNU_EH_FRAME:
      return take_once(frames_, segment, "lists of frames (PT_GNU_EH_FRAME)");
    case PT_INTERP:
      invalid_library("names a program interpreter (PT_INTERP), so it is a program");
    default:  // the linker skips it
      return;
  }
}

void ElfSegments::check_kinds() const {
  if (!stack_)
    unsafe_library(
        "does not say that its stack is not executable (no PT_GNU_STACK); link it with "
        "-z noexecstack");
  if ((stack_->p_flags & PF_X) != 0)
    unsafe_library(
        "requires an executable stack; link it with -z noexecstack, and check that its assembly "
        "sources have a .note.GNU-stack section");
  if (loads_.empty()) invalid_library("is damaged: it has nothing to load");
  if (!dynamic_) invalid_library("has no dynamic section");
}

void ElfSegments::check_loads() const {
  const Elf64_Phdr* before = nullptr;
  for (const Elf64_Phdr& one : loads_) {
    if (one.p_filesz > one.p_memsz)
      invalid_library("is damaged: a segment is larger in the file than in memory");
    if (one.p_offset > file_.size() || file_.size() - one.p_offset < one.p_filesz)
      invalid_library("is damaged: it ends before its segments do");
    if (one.p_vaddr > kAddressSpace || one.p_memsz > kAddressSpace - one.p_vaddr)
      invalid_library("is damaged: a segment is beyond the address space");
    if (one.p_align < kElfPage || one.p_align > kMostMappedBytes ||
        !std::has_single_bit(one.p_align) || (one.p_vaddr - one.p_offset) % one.p_align != 0)
      invalid_library("is damaged: a segment is not aligned to pages");
    if (before != nullptr && first_page(one) < end_page(*before))
      damaged_library("segments overlap or are out of order");
    before = &one;
  }
  for (const Elf64_Phdr& one : loads_) {
    if ((one.p_flags & PF_W) != 0 && (one.p_flags & PF_X) != 0)
      unsafe_library(
          "has memory that is both writable and executable; link it without -N (--omagic)");
    if ((one.p_flags & PF_R) == 0)
      invalid_library("has a segment that cannot be read; link it without --execute-only");
    if (one.p_memsz > one.p_filesz && (one.p_flags & PF_W) == 0)
      invalid_library("is damaged: a segment that is not writable has zeros behind its contents");
  }
  // From 0 on: LoadedLibrary takes a number below the library's base for an address without it.
  if (end_page(loads_.back()) > kMostMappedBytes)
    invalid_library("is damaged: its segments end beyond the first " +
                    std::to_string(kMostMappedBytes >> 30) + " GiB of addresses");
}

void ElfSegments::check_dynamic() const {
  // The linker uses the address, other readers the offset; both must see the same.
  if (static_cast<std::uint64_t>(dynamic().data() - file_.data()) != dynamic_->p_offset)
    damaged_library("dynamic section differs by address and by file offset");
  if (dynamic_->p_memsz != dynamic_->p_filesz || dynamic_->p_vaddr % alignof(Elf64_Dyn) != 0)
    damaged_library("dynamic section has an impossible size or place");
  // The linker writes addresses into it.
  if ((dynamic_->p_flags & PF_W) == 0 || !is_writable(dynamic_->p_vaddr, dynamic_->p_memsz))
    invalid_library("has a dynamic section that is read-only; link it without -z rodynamic");
}

void ElfSegments::check_thread_data() const {
  if (!thread_) return;
  if (thread_->p_filesz > thread_->p_memsz || thread_->p_memsz > kMostThreadBytes)
    damaged_library("thread-local data has an impossible size");
  // The linker divides by the alignment, and ends the process if a thread's copy does not fit.
  if (!std::has_single_bit(thread_->p_align) || thread_->p_align > kMostThreadAlignment)
    damaged_library("thread-local data has an impossible alignment");
  if (thread_->p_filesz == 0) return;
  // glibc takes the address 0 for no contents, and yet copies them.
  if (thread_->p_vaddr == 0) damaged_library("thread-local data has an impossible place");
  static_cast<void>(at(thread_->p_vaddr, thread_->p_filesz, "thread-local data"));
}

/// The linker takes the right to write from these pages after it has applied relocations.
void ElfSegments::check_read_only_part() const {
  if (!read_only_ || read_only_->p_memsz == 0) return;
  const Elf64_Phdr* const load = load_of(read_only_->p_vaddr);
  // Not up to a multiple of p_align: the memory beyond the last page is another library's.
  const bool is_inside = load != nullptr && (load->p_flags & PF_W) != 0 &&
                         read_only_->p_memsz <= end_page(*load) - read_only_->p_vaddr;
  if (!is_inside) damaged_library("read-only part (PT_GNU_RELRO) is not in a writable segment");
}

/// The linker writes zeros behind the contents of a segment, up to the end of their last page.
/// Unwinders read the list of segments there if it is in that page.
void ElfSegments::check_headers_in_memory() const {
  for (const Elf64_Phdr& one : loads_) {
    const std::uint64_t end = one.p_offset + one.p_filesz;
    const std::uint64_t zeros =
        std::min(rounded_up(end, kElfPage) - end, one.p_memsz - one.p_filesz);
    if (zeros > 0 && headers_offset_ < end + zeros && end < headers_offset_ + headers_size_)
      damaged_library("list of segments is where the linker writes zeros");
  }
}

void ElfSegments::check_headers(const Elf64_Ehdr& header) const {
  check_headers_in_memory();
  if (headers_) {
    constexpr const char* kHeaders = "list of segments (PT_PHDR)";
    const ElfBytes mapped = at(headers_->p_vaddr, headers_->p_memsz, kHeaders);
    if (mapped.data() != file_.data() + header.e_phoff || mapped.size() != headers_size_)
      damaged_library("list of segments differs by address and by file offset");
  }
  if (frames_ && frames_->p_memsz > 0) {
    constexpr const char* kFrames = "list of frames (PT_GNU_EH_FRAME)";
    const ElfBytes frames = at(frames_->p_vaddr, frames_->p_memsz, kFrames);
    if (elf_record<std::uint8_t>(frames, 0, kFrames) != 1)
      damaged_library("list of frames has an unknown format");
  }
}

void ElfSegments::check_notes() const {
  for (const Elf64_Phdr& one : notes_) {
    if (one.p_memsz == 0 && one.p_filesz == 0) continue;
    const ElfBytes notes = at(one.p_vaddr, one.p_memsz, "list of notes (PT_NOTE)");
    if (one.p_memsz != one.p_filesz || notes.data() != file_.data() + one.p_offset)
      damaged_library("list of notes differs by address and by file offset");
    check_note_list(notes, one.p_align);
  }
}

const Elf64_Phdr* ElfSegments::load_of(std::uint64_t address) const noexcept {
  const auto load = std::ranges::find_if(loads_, [address](const Elf64_Phdr& one) {
    return address >= one.p_vaddr && address - one.p_vaddr < one.p_memsz;
  });
  return load == loads_.end() ? nullptr : &*load;
}

ElfBytes ElfSegments::from(std::uint64_t address, const char* what) const {
  const Elf64_Phdr* const load = load_of(address);
  if (load == nullptr || address - load->p_vaddr >= load->p_filesz) ends_early(what);
  const std::uint64_t inside = address - load->p_vaddr;
  return file_.subspan(load->p_offset + inside, load->p_filesz - inside);
}

ElfBytes ElfSegments::at(std::uint64_t address, std::uint64_t size, const char* what) const {
  const ElfBytes rest = from(address, what);
  if (size > rest.size()) ends_early(what);
  return rest.first(size);
}

bool ElfSegments::is_code(std::uint64_t address) const noexcept {
  const Elf64_Phdr* const load = load_of(address);
  return load != nullptr && (load->p_flags & PF_X) != 0 && address - load->p_vaddr < load->p_filesz;
}

bool ElfSegments::is_writable(std::uint64_t address, std::uint64_t size) const noexcept {
  const Elf64_Phdr* const load = load_of(address);
  return load != nullptr && (load->p_flags & PF_W) != 0 &&
         size <= load->p_memsz - (address - load->p_vaddr);
}

bool ElfSegments::is_mapped(std::uint64_t address) const noexcept {
  return address >= first_page(loads_.front()) && address <= end_page(loads_.back());
}

ElfRanges ElfSegments::tables() const {
  ElfRanges tables(dynamic_->p_vaddr, dynamic_->p_memsz);
  if (frames_) tables.add(frames_->p_vaddr, frames_->p_memsz, "list of frames");
  for (const Elf64_Phdr& one : notes_) tables.add(one.p_vaddr, one.p_memsz, "list of notes");
  for (const Elf64_Phdr& one : loads_)
    if (headers_offset_ >= one.p_offset && headers_offset_ - one.p_offset < one.p_filesz)
      tables.add(one.p_vaddr + (headers_offset_ - one.p_offset), headers_size_, "list of segments");
  return tables;
}

}  // namespace vcap
