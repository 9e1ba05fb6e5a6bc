// SPDX-License-Identifier: Apache-2.0
#include "files/frame_pool.hpp"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "base/thread_annotations.hpp"
#include "files/file_descriptor.hpp"

namespace vcap {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t whole_pages(std::size_t bytes) noexcept { return (bytes + kPage - 1) / kPage * kPage; }

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

FileDescriptor make_file(std::size_t bytes) {
  FileDescriptor file(::memfd_create("vcap-frames", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) fail("a memory file for frames");
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) fail("the size of a pool of frames");
  return file;
}

}  // namespace

/// The file, its mapping, and which of its pages are free. Thread-safe.
class FramePool::Pages {
 public:
  explicit Pages(std::size_t bytes)
      : bytes_(std::max(whole_pages(bytes), kPage)), file_(make_file(bytes_)) {
    void* const begin = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
    if (begin == MAP_FAILED) fail("the mapping of a pool of frames");
    begin_ = static_cast<std::uint8_t*>(begin);
    // After the mapping, which stays writable: further mappings are for reading only.
    constexpr int kSeals = F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    if (::fcntl(file_.get(), F_ADD_SEALS, kSeals) != 0) {
      const int error = errno;
      ::munmap(begin_, bytes_);
      throw std::system_error(error, std::generic_category(), "the seals of a pool of frames");
    }
    free_.emplace(0, bytes_);
  }
  ~Pages() { ::munmap(begin_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  /// A part of the file: offset and size. It is a node of the map of free parts, so that giving it
  /// back needs no memory.
  using Free = std::map<std::size_t, std::size_t>;
  using Range = Free::node_type;

  /// The first part with so much room; the lowest one, so that few pages are ever filled. Empty if
  /// there is none.
  Range take(std::size_t size) {
    Free made{{0, size}};
    Range taken = made.extract(made.begin());
    const MutexLock lock(mutex_);
    const auto found = std::find_if(free_.begin(), free_.end(),
                                    [size](const auto& range) { return range.second >= size; });
    if (found == free_.end()) {
      ++refused_;
      return {};
    }
    taken.key() = found->first;
    Range rest = free_.extract(found);
    rest.key() += size;
    rest.mapped() -= size;
    if (rest.mapped() > 0) free_.insert(std::move(rest));
    used_ += size;
    most_ = std::max(most_, used_);
    ++pictures_;
    return taken;
  }

  void give_back(Range range) noexcept {
    const MutexLock lock(mutex_);
    used_ -= range.mapped();
    --pictures_;
    auto next = free_.lower_bound(range.key());
    if (next != free_.end() && next->first == range.key() + range.mapped()) {
      range.mapped() += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == range.key()) {
        before->second += range.mapped();
        return;
      }
    }
    free_.insert(next, std::move(range));
  }
  /// Counts a picture that is larger than the file.
  void refuse() {
    const MutexLock lock(mutex_);
    ++refused_;
  }

  std::size_t bytes() const noexcept { return bytes_; }
  std::uint8_t* at(std::size_t offset) const noexcept { return begin_ + offset; }
  std::optional<std::size_t> offset_of(const std::uint8_t* pixel) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(pixel);
    const auto begin = reinterpret_cast<std::uintptr_t>(begin_);
    if (address < begin || address - begin >= bytes_) return {};
    return address - begin;
  }
  int descriptor() const noexcept { return file_.get(); }
  Statistics statistics() const {
    const MutexLock lock(mutex_);
    return {
        .bytes = bytes_, .used = used_, .most = most_, .pictures = pictures_, .refused = refused_};
  }

 private:
  const std::size_t bytes_;
  const FileDescriptor file_;
  std::uint8_t* begin_ = nullptr;
  mutable Mutex mutex_;
  Free free_ VCAP_GUARDED_BY(mutex_);  ///< offset to size
  std::size_t used_ VCAP_GUARDED_BY(mutex_) = 0;
  std::size_t most_ VCAP_GUARDED_BY(mutex_) = 0;
  std::size_t pictures_ VCAP_GUARDED_BY(mutex_) = 0;
  std::size_t refused_ VCAP_GUARDED_BY(mutex_) = 0;
};

/// What a picture owns.
struct FramePool::Part {
  explicit Part(std::shared_ptr<Pages> of) : pages(std::move(of)) {}
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() {
    if (range) pages->give_back(std::move(range));
  }

  const std::shared_ptr<Pages> pages;
  Pages::Range range{};
};

/// What OpenCV calls for the last reference to a picture. It has no state, and lives as long as the
/// process, because pictures may outlive every pool.
class FramePool::Allocator final : public cv::MatAllocator {
 public:
  static Allocator& get() {
    static Allocator& one = *new Allocator;
    return one;
  }

  // A picture of the pool that gets another size leaves the pool, as any other cv::Mat would.
  cv::UMatData* allocate(int dimensions, const int* sizes, int type, void* data, size_t* step,
                         cv::AccessFlag flags, cv::UMatUsageFlags usage) const override {
    return cv::Mat::getStdAllocator()->allocate(dimensions, sizes, type, data, step, flags, usage);
  }
  bool allocate(cv::UMatData* data, cv::AccessFlag flags, cv::UMatUsageFlags usage) const override {
    return cv::Mat::getStdAllocator()->allocate(data, flags, usage);
  }
  void deallocate(cv::UMatData* data) const override {
    delete static_cast<Part*>(data->userdata);
    delete data;
  }
};

FramePool::FramePool(std::size_t bytes) : pages_(std::make_shared<Pages>(bytes)) {}

FramePool::~FramePool() = default;

cv::Mat FramePool::allocate(cv::Size size, int type) {
  if (size.empty()) return {};
  const std::size_t row = static_cast<std::size_t>(size.width) * CV_ELEM_SIZE(type);
  const auto rows = static_cast<std::size_t>(size.height);
  if (row > pages_->bytes() / rows) {
    pages_->refuse();
    return {};
  }
  // Memory first, so that nothing is lost if it is short.
  auto part = std::make_unique<Part>(pages_);
  auto data = std::make_unique<cv::UMatData>(&Allocator::get());
  part->range = pages_->take(whole_pages(row * rows));
  if (!part->range) return {};
  data->data = data->origdata = pages_->at(part->range.key());
  data->size = row * rows;
  data->refcount = 1;
  cv::Mat picture(size, type, data->data);
  data->userdata = part.release();
  picture.u = data.release();
  return picture;
}

std::optional<std::size_t> FramePool::offset_of(const cv::Mat& picture) const noexcept {
  return pages_->offset_of(picture.data);
}

int FramePool::descriptor() const noexcept { return pages_->descriptor(); }

FramePool::Statistics FramePool::statistics() const { return pages_->statistics(); }

}  // namespace vcap
