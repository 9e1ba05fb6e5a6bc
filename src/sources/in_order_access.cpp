// SPDX-License-Identifier: Apache-2.0
#include "sources/in_order_access.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "sources/rows.hpp"
#include "sources/rows_source.hpp"
#include "vcap/sources/random_access.hpp"

namespace vcap {
namespace {

class InOrderAccess final : public RandomAccess {
 public:
  InOrderAccess(std::string name, std::int64_t frames) : name_(std::move(name)), frames_(frames) {}

  std::int64_t frames() const override { return frames_; }
  std::unique_ptr<Source> open(const std::vector<RowRange>& ranges) const override {
    Rows rows;
    for (const RowRange& range : ranges) rows.add(range);
    return std::make_unique<RowsSource>(open_source(name_), rows, rows);
  }

 private:
  const std::string name_;
  const std::int64_t frames_;
};

class ReadSource final : public Source {
 public:
  ReadSource(std::string name, std::int64_t frames)
      : source_(open_source(name)), name_(std::move(name)), frames_(frames) {}

  SourceInfo info() const override { return source_->info(); }
  std::optional<Frame> read() override { return source_->read(); }
  BrokenPictures broken_pictures() const override { return source_->broken_pictures(); }
  void interrupt() noexcept override { source_->interrupt(); }
  std::shared_ptr<const RandomAccess> random_access() override {
    auto own = source_->random_access();
    return own ? own : std::make_shared<InOrderAccess>(name_, frames_);
  }

 private:
  const std::unique_ptr<Source> source_;
  const std::string name_;
  const std::int64_t frames_;
};

}  // namespace

std::unique_ptr<Source> open_read_source(const std::string& name, std::int64_t frames) {
  return std::make_unique<ReadSource>(name, frames);
}

}  // namespace vcap
