// SPDX-License-Identifier: Apache-2.0
#include "cluster/records.hpp"

#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cluster/cluster_impl.hpp"
#include "cluster/nats_server.hpp"
#include "cluster/record_outlet.hpp"
#include "support/figures.hpp"
#include "support/temporary_folder.hpp"
#include "support/tracked_line.hpp"

namespace vcap::bench {
namespace {

constexpr int kStreams = 16;

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

RecordCost record_cost() {
  const int records = workload(20'000, 200);  // of each stream
  const test::NatsServer server;
  const test::TemporaryFolder folder;
  const auto cluster = Cluster::connect(server.settings());
  Cluster::Impl& impl = cluster->impl();
  RecordOutlet outlet(cluster, {.worker = "x", .spool = {.folder = folder / "spool"}});
  std::vector<std::shared_ptr<RecordLane>> lanes;
  for (int i = 0; i < kStreams; ++i) {
    const StreamEpoch epoch{"camera" + std::to_string(i), 1};
    const auto sequence = impl.jet_stream.store(
        impl.site.subject(Site::Kind::record, {epoch.stream}), begin_message(epoch, "x", {}));
    lanes.push_back(outlet.begin(epoch, *sequence));
  }
  const std::string record = test::tracked_line(
      {.stream_id = "camera", .frame = {.index = 1'234'567}, .resolution = {1'920, 1'080}}, 2);
  const double before = processor_seconds();
  const double adding = seconds([&] {
    for (int i = 0; i < records; ++i)
      for (const std::shared_ptr<RecordLane>& lane : lanes)
        outlet.add(*lane, record, i, std::chrono::milliseconds(100 * i));
  });
  for (const std::shared_ptr<RecordLane>& lane : lanes)
    if (!outlet.end(*lane, std::chrono::seconds(10)))
      throw std::runtime_error("the broker has not taken all records");
  const double count = static_cast<double>(records) * kStreams;
  return {.stream_thread = 1e6 * adding / count,
          .process = 1e6 * (processor_seconds() - before) / count};
}

}  // namespace vcap::bench
