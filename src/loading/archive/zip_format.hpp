// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Constants of the zip format (PKWARE's APPNOTE 6.3.10), for reader and writer.
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
/// The size field of the zip64 end record excludes itself and the signature.
inline constexpr std::uint64_t kZip64EndRecordRest = kZip64EndRecordSize - 12;

/// In a 16- or 32-bit field: the value is in the zip64 record.
inline constexpr std::uint16_t kIn64Count = 0xffff;
inline constexpr std::uint32_t kIn64 = 0xffffffff;

inline constexpr std::uint16_t kStored = 0;
inline constexpr std::uint16_t kFlagUtf8 = 1u << 11;

inline constexpr std::uint16_t kExtraZip64 = 0x0001;
/// A second name, which only some readers know: two readers would see two names.
inline constexpr std::uint16_t kExtraUnicodePath = 0x7075;
/// Padding before the data, as Android's tools write it: u16 alignment, then zeros.
inline constexpr std::uint16_t kExtraAlignment = 0xd935;

inline constexpr std::uint16_t kVersionPlain = 20;
inline constexpr std::uint16_t kVersionZip64 = 45;
inline constexpr std::uint16_t kMadeByUnix = 3;
/// The high half of an entry's external attributes, if it was made on Unix: st_mode.
inline constexpr std::uint32_t kModeShift = 16;
/// In the low half: the DOS directory attribute.
inline constexpr std::uint32_t kDosFolder = 0x10;

}  // namespace vcap::zip
