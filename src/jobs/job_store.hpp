// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// Where the plans and the slices' results of a job's videos are: the folder of its outputs, or a
/// cluster. A video goes through begin(), and stage() and commit() for each slice.
///
/// Functions throw OutputError, or ClusterError. Thread safety: thread-safe.
class VCAP_EXPORT JobStore {
 public:
  /// The folder in which the result of one slice is written; removed unless committed.
  /// Thread-compatible.
  class VCAP_EXPORT Staged {
   public:
    Staged() = default;
    Staged(const Staged&) = delete;
    Staged& operator=(const Staged&) = delete;
    virtual ~Staged();

    /// A folder for the result's files, empty at first.
    virtual const std::filesystem::path& path() const noexcept = 0;
    /// Stores the files, which must be closed, and the result. False if the slice already has a
    /// result, or its video is finished. The stored result then stays, and this one is dropped.
    virtual bool commit(const nlohmann::json& result) = 0;
  };

  JobStore() = default;
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;
  virtual ~JobStore();

  /// The note of a finished video.
  virtual std::optional<nlohmann::json> finished(const std::string& video) const = 0;
  /// The plan of a video that is begun: an array with an element for each slice.
  virtual std::optional<nlohmann::json> plan(const std::string& video) const = 0;
  /// The stored result of a slice.
  virtual std::optional<nlohmann::json> result(const std::string& video,
                                               std::size_t slice) const = 0;
  /// The index that is stored with that plan, for restore_index(). `nullopt` if there is none.
  virtual std::optional<std::string> index(const std::string& video) const = 0;

  /// Stores the plan. False if the video already has one, which then stays. `index`: save_index()
  /// of the video, so that other readers need not scan it; may be empty.
  virtual bool begin(const std::string& video, const nlohmann::json& plan,
                     std::string_view index = {}) = 0;
  /// Drops the plan of a video that is not finished, and all results of that plan.
  virtual void forget(const std::string& video) = 0;
  /// For a video that is begun.
  virtual std::unique_ptr<Staged> stage(const std::string& video, std::size_t slice) = 0;
};

}  // namespace vcap
