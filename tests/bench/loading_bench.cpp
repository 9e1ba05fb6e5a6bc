// SPDX-License-Identifier: Apache-2.0
// Measures the cost of loading and packing beyond reading, hashing and writing the bytes.
#include <dlfcn.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/figures.hpp"
#include "support/paths.hpp"
#include "support/quantile.hpp"
#include "vcap/base/abi.hpp"
#include "vcap/loading/package_capsule.hpp"

namespace {

namespace fs = std::filesystem;
using vcap::bench::Better;
using vcap::bench::ratio;
using vcap::bench::seconds;

const auto kModelBytes = vcap::bench::workload<std::size_t>(500'000'000, 8'000'000);
constexpr double kMiB = 1 << 20;

/// A folder that the destructor removes with its content.
class Folder {
 public:
  explicit Folder(const fs::path& parent) {
    std::string name = (parent / "vcap-bench-XXXXXX").native();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder " + name);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};
/// A folder in memory if possible, so that the speed of a disk does not matter.
const Folder& folder() {
  static const Folder one(fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path());
  return one;
}
/// A folder on disk, so that mapped files do not count as the process's own memory.
const Folder& disk() {
  static const Folder one(fs::temp_directory_path());
  return one;
}

std::string library_bytes() {
  std::ifstream in(vcap::test::built("tests/bench/loading_bench_plugin.so"), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// A copy of the plugin with its own digest, since the linker and vcap load equal files only once.
fs::path fresh_library() {
  static int count = 0;
  const fs::path path = folder().path / ("library-" + std::to_string(count++) + ".so");
  std::ofstream(path, std::ios::binary) << library_bytes() << path.native();
  return path;
}

fs::path capsule_of(const fs::path& library, const std::map<std::string, std::string>& files = {}) {
  const fs::path path = library.native() + ".cap";
  vcap::package_capsule({.libraries = {{std::string(vcap::platform()), library}}, .files = files},
                        path);
  return path;
}

const fs::path& model() {
  static const fs::path path = [] {
    fs::path written = folder().path / "model.bin";
    std::mt19937_64 random(1);
    std::vector<std::uint64_t> numbers(kModelBytes / sizeof(std::uint64_t));
    for (auto& number : numbers) number = random();
    std::ofstream(written, std::ios::binary)
        .write(reinterpret_cast<const char*>(numbers.data()), kModelBytes);
    return written;
  }();
  return path;
}

const fs::path& large_capsule() {
  static const fs::path path = [] {
    const fs::path moved = disk().path / "large.cap";
    const fs::path packed = capsule_of(fresh_library(), {{"model.bin", model()}});
    fs::copy_file(packed, moved);
    fs::remove(packed);
    return moved;
  }();
  return path;
}

/// The mapped bytes of a file.
class Mapped {
 public:
  explicit Mapped(const fs::path& path) : size_(fs::file_size(path)) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    ::close(fd);
    if (data_ == MAP_FAILED) throw std::runtime_error("cannot map " + path.native());
  }
  ~Mapped() { ::munmap(data_, size_); }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  std::size_t size_;
  void* data_;
};

void hash(std::span<const std::byte> bytes) {
  std::array<unsigned char, 32> digest{};
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("no SHA-256");
}

double load(const fs::path& capsule) {
  return seconds([&] { vcap::load_capsule(capsule, {.inference_mode = false}); });
}

double hash_pass() {
  return seconds([] { hash(Mapped(large_capsule()).bytes()); });
}

/// Memory of this process that is not backed by a file, in KiB.
long memory_of_its_own() {
  std::ifstream status("/proc/self/status");
  long sum = 0;
  for (std::string word; status >> word;)
    if (word == "RssAnon:" || word == "RssShmem:") {
      long kib = 0;
      status >> kib;
      sum += kib;
    }
  return sum;
}

/// The peak of that memory while a large capsule is loaded and held, in MiB.
double memory_while_loading() {
  large_capsule();
  const long before = memory_of_its_own();
  std::atomic<bool> over{false};
  std::atomic<long> most{0};
  std::jthread watch([&] {
    while (!over) {
      most = std::max<long>(most, memory_of_its_own() - before);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  const auto capsule = vcap::load_capsule(large_capsule(), {.inference_mode = false});
  most = std::max<long>(most, memory_of_its_own() - before);
  over = true;
  return static_cast<double>(most) * 1024 / kMiB;
}

double inspect_milliseconds() {
  large_capsule();
  std::vector<double> took;
  for (int i = 0; i < 21; ++i)
    took.push_back(1e3 * seconds([] { vcap::read_manifest(large_capsule()); }));
  return vcap::bench::quantile(std::move(took), 0.5);
}

/// A capsule that another process has packed. A packer loads the library for its description, and a
/// library that this process has already loaded is not loaded again.
fs::path fresh_capsule() {
  const fs::path library = fresh_library();
  const fs::path capsule = library.native() + ".cap";
  std::string command = "'";
  command += vcap::test::built("src/cli/vcap");
  command +=
      "' pack --library '" + library.native() + "' --output '" + capsule.native() + "' >/dev/null";
  if (std::system(command.c_str()) != 0) throw std::runtime_error(command);
  return capsule;
}

double second_to_first() {
  std::vector<double> ratios;
  for (int i = 0; i < 5; ++i) {
    const fs::path capsule = fresh_capsule();
    const double first = load(capsule);
    ratios.push_back(load(capsule) / first);
  }
  return vcap::bench::quantile(std::move(ratios), 0.5);
}

/// The time of the first load of capsules that are new to the process, or of their second load.
double load_milliseconds(bool again) {
  std::vector<double> took;
  for (int i = 0; i < 5; ++i) {
    const fs::path capsule = fresh_capsule();
    if (again) load(capsule);
    took.push_back(1e3 * load(capsule));
  }
  return vcap::bench::quantile(std::move(took), 0.5);
}

double dlopen_seconds(const fs::path& library) {
  return seconds([&] {
    if (::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr)
      throw std::runtime_error(::dlerror());
  });
}

/// Each library is new to the process, for load_capsule() as for dlopen().
double first_load_to_dlopen() {
  constexpr int kRounds = 9;
  // All files are made first: packing runs in another process, which would disturb the caches.
  std::vector<fs::path> capsules, libraries;
  for (int i = 0; i < kRounds; ++i) {
    capsules.push_back(fresh_capsule());
    libraries.push_back(fresh_library());
  }
  std::vector<double> loads, dlopens;
  for (int i = 0; i < kRounds; ++i) {
    const auto place = static_cast<std::size_t>(i);
    if (i % 2 == 0) loads.push_back(load(capsules[place]));
    dlopens.push_back(dlopen_seconds(libraries[place]));
    if (i % 2 != 0) loads.push_back(load(capsules[place]));
  }
  return vcap::bench::quantile(std::move(loads), 0.5) /
         vcap::bench::quantile(std::move(dlopens), 0.5);
}

double pack_seconds() {
  static const fs::path library = fresh_library();
  return seconds([] { capsule_of(library, {{"model.bin", model()}}); });
}

double write_and_hash() {
  return seconds([] {
    const Mapped content(model());
    hash(content.bytes());
    std::ofstream out(folder().path / "copy.bin", std::ios::binary);
    out.write(reinterpret_cast<const char*>(content.bytes().data()),
              static_cast<std::streamsize>(content.bytes().size()));
    if (!out.flush()) throw std::runtime_error("no room");
  });
}

}  // namespace

int main(int argc, char** argv) {
  return vcap::bench::run_figures(
      argc, argv,
      {{.id = "loading.1",
        .what = "a capsule of 500 MB, digests checked, time of one SHA-256 pass",
        .target = 1.15,
        .sample = [] { return ratio([] { return load(large_capsule()); }, hash_pass); }},
       {.id = "loading.1",
        .what = "memory beyond the mapped file meanwhile, MiB",
        .target = 16,
        .sample = memory_while_loading,
        .samples = 3},
       {.id = "loading.2",
        .what = "reading the manifest of a capsule of 500 MB, ms",
        .target = 2,
        .sample = inspect_milliseconds},
       {.id = "loading.2",
        .what = "a small capsule without backends, time of dlopen of its library",
        .target = 1.5,
        .sample = first_load_to_dlopen},
       {.id = "loading.2",
        .what = "a small capsule without backends, ms",
        .target = 5,
        .sample = [] { return load_milliseconds(false); }},
       {.id = "loading.3",
        .what = "a second load of the same capsule, time of the first",
        .target = 0.1,
        .sample = second_to_first},
       {.id = "loading.3",
        .what = "a second load of the same capsule, ms",
        .target = 1,
        .sample = [] { return load_milliseconds(true); }},
       {.id = "loading.3",
        .what = "packing 500 MB, speed of a plain write and hash",
        .target = 0.8,
        .better = Better::higher,
        .sample = [] { return ratio(write_and_hash, pack_seconds); }}});
}
