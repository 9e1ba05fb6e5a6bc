// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Numbers of the zip format (PKWARE's APPNOTE 6.3.10), as reader and writer need them.
namespace vcap::zip {

inline constexpr std::uint32_t kLocalHeader = 0x04034b50;
inline constexpr std::uint32_t kDirectoryHeader = 0x02014b50;
inline constexpr std::uint32_t kEndRecord = 0x06054b50;
inline constexpr std::uint32_t kZip64EndRecord = 0x06064b50;
inline constexpr std::uint32_t kZip64Locator = 0x07064b50;

inline constexpr std::uint64_t kLocalHeaderSize = 30;
inline constexpr std::uint64_t kDirectoryHeaderSize = 46;
inline constexpr std::uint64_t kEndRecordSize = 22;
inline constexpr std::uint64_t kZip64EndRecordSize = 56;
inline constexpr std::uint64_t kZip64LocatorSize = 20;
/// The zip64 end record's size field leaves out itself and the signature.
inline constexpr std::uint64_t kZip64EndRecordRest = kZip64EndRecordSize - 12;

/// In a 16- or 32-bit field: the value stands in the zip64 record.
inline constexpr std::uint16_t kIn64Count = 0xffff;
inline constexpr std::uint32_t kIn64 = 0xffffffff;

inline constexpr std::uint16_t kStored = 0;
inline constexpr std::uint16_t kDeflated = 8;

inline constexpr std::uint16_t kFlagUtf8 = 1u << 11;
/// Bits 1 and 2 tell how hard deflate tried; bit 11 that the name is UTF-8. All others change what
/// a reader sees: encryption (0, 6, 13), sizes that follow the data (3), patches (5).
inline constexpr std::uint16_t kHarmlessFlags = (1u << 1) | (1u << 2) | kFlagUtf8;

inline constexpr std::uint16_t kExtraZip64 = 0x0001;
/// A second name for readers that know this field: two readers, two names.
inline constexpr std::uint16_t kExtraUnicodePath = 0x7075;
/// Padding before the data, as Android's tools write it: u16 alignment, then zeros.
inline constexpr std::uint16_t kExtraAlignment = 0xd935;

inline constexpr std::uint16_t kVersionPlain = 20;
inline constexpr std::uint16_t kVersionZip64 = 45;
inline constexpr std::uint16_t kMadeByUnix = 3;
/// The high half of an entry's external attributes, where it was made by Unix: st_mode.
inline constexpr std::uint32_t kModeShift = 16;
/// In the low half: what DOS calls a directory.
inline constexpr std::uint32_t kDosFolder = 0x10;

}  // namespace vcap::zip
