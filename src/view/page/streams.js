// SPDX-License-Identifier: Apache-2.0
// What the statistics say of a stream, in words.

const since = new Map();  // when this page first saw the state that a stream is in

// Gives {word, text}: the word of its badge, and a text if there is more to say.
export function stateOf(stream) {
  const source = stream.source_state ?? {};
  let word = source.state ?? 'running';
  if (stream.ended) word = 'ended';
  if (stream.failure) word = 'failed';
  const known = since.get(stream.id);
  if (known?.word !== word) since.set(stream.id, {word, at: performance.now()});
  let text = '';
  if (word === 'failed') text = stream.failure;
  if (word === 'reconnecting' || word === 'connecting') {
    const own = (performance.now() - since.get(stream.id).at) / 1000;
    text = 'for ' + duration(source.for_s ?? own);
    if (source.message) text += ': ' + source.message;
  }
  return {word, text};
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
    if (word === 'failed' || word === 'reconnecting') found.push({where: stream.id, text: `${word} ${text}`});
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
