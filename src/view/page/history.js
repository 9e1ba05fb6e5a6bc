// SPDX-License-Identifier: Apache-2.0
// The numbers of the last two minutes, from the server's states.
import {sum} from './streams.js';

export const kSpan = 120;  // seconds

// Several pipelines may have the same capsule.
function addBatches(all, name, {count, mean_size}) {
  const known = all.get(name) ?? {count: 0, all: 0};
  all.set(name, {count: known.count + count, all: known.all + count * mean_size});
}

export class History {
  #samples = [];  // oldest first

  add({stats}) {
    const last = this.#samples.at(-1);
    if (last && stats.uptime_s < last.at) this.#samples = [];  // another run
    if (last && stats.uptime_s === last.at) return;
    const sample = {at: stats.uptime_s, streams: new Map(), batches: new Map()};
    for (const one of stats.streams)
      sample.streams.set(one.id, {
        rate: one.frames_per_second,
        p50: one.latency_ms?.p50,
        p95: one.latency_ms?.p95,
        drops: sum(one.drops),
        errors: one.errors,
      });
    for (const capsule of stats.capsules)
      for (const backend of capsule.backends ?? [])
        if (backend.batches) addBatches(sample.batches, `${capsule.name} ${backend.device}`, backend.batches);
    this.#samples.push(sample);
    while (this.#samples[0].at < sample.at - kSpan) this.#samples.shift();
  }

  get streams() { return [...(this.#samples.at(-1)?.streams.keys() ?? [])]; }
  get backends() { return [...(this.#samples.at(-1)?.batches.keys() ?? [])]; }

  // The points {x: seconds, 0 is now, y} of a value of a stream.
  values(id, name) { return this.#points((sample) => sample.streams.get(id)?.[name]); }

  // The same of a count's growth in a second. `id` null: of all streams together.
  growth(id, name) {
    const count = (sample) => id === null ? this.#total(sample, name) : sample.streams.get(id)?.[name];
    return this.#points((sample, before) => {
      if (!before) return undefined;
      return Math.max(0, (count(sample) - count(before)) / (sample.at - before.at));
    });
  }

  totals(name) { return this.#points((sample) => this.#total(sample, name)); }

  // The mean size of the batches between two samples.
  batchSizes(backend) {
    return this.#points((sample, before) => {
      const now = sample.batches.get(backend);
      const then = before?.batches.get(backend);
      if (!now || !then || now.count <= then.count) return undefined;
      return (now.all - then.all) / (now.count - then.count);
    });
  }

  #total(sample, name) {
    let total = 0;
    for (const one of sample.streams.values()) total += one[name] ?? 0;
    return total;
  }

  #points(value) {
    const now = this.#samples.at(-1)?.at ?? 0;
    return this.#samples.map((sample, i) => ({x: sample.at - now, y: value(sample, this.#samples[i - 1])}))
      .filter((point) => Number.isFinite(point.y));
  }
}
