// SPDX-License-Identifier: Apache-2.0
#include "loading/elf_header.hpp"

#include <elf.h>
#include <gmock/gmock.h>

#include "support/temporary_folder.hpp"
#include "vcap/base/abi.hpp"

namespace vcap {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string plugin() { return test::read_file(VCAP_TEST_PLUGINS "/good.so"); }

std::string fault_of(const std::string& bytes, std::string_view for_platform = platform()) {
  return elf_header_fault(std::as_bytes(std::span(bytes)), for_platform);
}

TEST(ElfHeader, OfAPluginHasNoFault) { EXPECT_THAT(fault_of(plugin()), IsEmpty()); }

TEST(ElfHeader, IsNotThereInOtherFiles) {
  EXPECT_THAT(fault_of(""), HasSubstr("no ELF"));
  EXPECT_THAT(fault_of("\x7f"
                       "ELF"),
              HasSubstr("no ELF"));
  EXPECT_THAT(fault_of(std::string(1000, 'x')), HasSubstr("no ELF"));
}

TEST(ElfHeader, TellsWhatALibraryIsNotFor) {
  const auto with = [](std::size_t offset, int value) {
    std::string bytes = plugin();
    bytes[offset] = static_cast<char>(value);
    return bytes;
  };
  EXPECT_THAT(fault_of(with(EI_CLASS, ELFCLASS32)), HasSubstr("64 bits"));
  EXPECT_THAT(fault_of(with(EI_DATA, ELFDATA2MSB)), HasSubstr("little-endian"));
  EXPECT_THAT(fault_of(with(offsetof(Elf64_Ehdr, e_type), ET_EXEC)), HasSubstr("ELF type 2"));
  EXPECT_THAT(fault_of(with(offsetof(Elf64_Ehdr, e_machine), EM_RISCV)),
              HasSubstr("is for processor 243"));
}

TEST(ElfHeader, MayBeOfAnyProcessorForAPlatformThatIsUnknown) {
  EXPECT_THAT(fault_of(plugin(), "linux-loongarch64"), IsEmpty());
}

}  // namespace
}  // namespace vcap
