// SPDX-License-Identifier: Apache-2.0
// What the statistics say of a stream, in words.

const kSilence = 5;         // seconds without a frame, none in flight, after which a stream counts as silent
const known = new Map();    // what this page saw of each stream, and when
const now = () => performance.now() / 1000;

function seenOf(stream, word) {
  const seen = known.get(stream.id) ?? {read: -1, moved: now()};
  if (seen.word !== word) seen.since = now();
  if (seen.read !== stream.read || stream.in_flight > 0) seen.moved = now();
  known.set(stream.id, Object.assign(seen, {word, read: stream.read}));
  return seen;
}

// Gives {word, text}: the word of its badge, and a text if there is more to say.
export function stateOf(stream) {
  const source = stream.source_state ?? {};
  let word = source.connection ?? 'running';
  if (stream.ended) word = 'ended';
  if (stream.failure) word = 'failed';
  const seen = seenOf(stream, word);
  if (word === 'failed') return {word, text: stream.failure};
  if (word === 'reconnecting' || word === 'connecting') {
    const text = 'for ' + duration(source.lasts_s ?? now() - seen.since);
    return {word, text: source.last_failure ? `${text}: ${source.last_failure}` : text};
  }
  const silent = now() - seen.moved;
  if (word === 'running' && silent > kSilence) return {word: 'silent', text: `no frame for ${duration(silent)}`};
  return {word, text: ''};
}

export const sum = (counts) => Object.values(counts ?? {}).reduce((all, one) => all + one, 0);

export function duration(seconds) {
  const whole = Math.floor(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor(whole / 60) % 60} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor(whole / 3600) % 24} h`;
}

export const number = (value, digits = 1) =>
  typeof value === 'number' && Number.isFinite(value) ? value.toFixed(digits) : '–';

// What is wrong now, one {where, text} each: streams, capsules, sinks.
export function problemsOf(stats) {
  const found = [];
  for (const stream of stats.streams) {
    const {word, text} = stateOf(stream);
    if (['failed', 'reconnecting', 'silent'].includes(word)) found.push({where: stream.id, text: `${word} ${text}`});
    for (const [place, sink] of (stream.sinks ?? []).entries())
      if (sink?.last_failure) found.push({where: `${stream.id}, output ${place + 1}`, text: sink.last_failure});
  }
  for (const capsule of stats.capsules)
    if (capsule.quarantined) found.push({where: capsule.name, text: 'quarantined: left out of all streams for a while'});
  return found;
}

// Calls `task` soon, at most once in `milliseconds`, with the newest arguments.
export function atMostEvery(milliseconds, task) {
  let timer = null;
  let newest;
  return (...all) => {
    newest = all;
    timer ??= setTimeout(() => { timer = null; task(...newest); }, milliseconds);
  };
}
