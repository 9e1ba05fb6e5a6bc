// SPDX-License-Identifier: Apache-2.0
// All text of streams and capsules is set by textContent, so markup in it stays text.
'use strict';

const element = (id) => document.getElementById(id);
const wall = new Map();  // figures by stream
let large = null;        // the stream that is shown large

function pictureUrl(stream, width) {
  return '/api/v1/picture?' + new URLSearchParams({stream, width, at: Date.now()});
}

// The next picture is asked for once this one is here, so a slow browser gets fewer.
function keepShowing(image, streamOf, width) {
  const next = () => {
    const stream = streamOf();
    if (stream !== null) image.src = pictureUrl(stream, width);
    else setTimeout(next, 500);
  };
  image.onload = () => setTimeout(next, 100);
  image.onerror = () => setTimeout(next, 500);
  next();
}

function addToWall(stream) {
  const figure = document.createElement('figure');
  const image = document.createElement('img');
  const caption = document.createElement('figcaption');
  image.alt = '';
  caption.textContent = stream;
  figure.append(image, caption);
  figure.onclick = () => { large = stream; element('large-name').textContent = stream; };
  element('wall').append(figure);
  wall.set(stream, figure);
  keepShowing(image, () => wall.get(stream) === figure ? stream : null, 320);
}

function fillTable(table, heads, rows) {
  const line = (cells, tag) => {
    const row = document.createElement('tr');
    for (const cell of cells) {
      const part = document.createElement(tag);
      part.textContent = cell;
      row.append(part);
    }
    return row;
  };
  table.replaceChildren(line(heads, 'th'), ...rows.map((cells) => line(cells, 'td')));
}

function show(state) {
  const streams = state.stats.streams;
  const ids = new Set(streams.map((one) => one.id));
  for (const id of ids) if (!wall.has(id)) addToWall(id);
  for (const [id, figure] of wall) if (!ids.has(id)) { figure.remove(); wall.delete(id); }
  fillTable(element('streams'), ['stream', 'frames/s', 'recorded', 'in flight', 'errors', 'drops', 'failure'],
    streams.map((one) => [one.id, Number(one.frames_per_second).toFixed(1), one.recorded, one.in_flight,
      one.errors, JSON.stringify(one.drops), one.failure ?? '']));
  fillTable(element('capsules'), ['capsule', 'version', 'calls', 'failures', 'quarantined'],
    state.stats.capsules.map((one) => [one.name, one.version, one.calls, one.failures,
      one.quarantined ? 'yes' : '']));
  element('plan').textContent = state.plan;
}

async function refresh() {
  try {
    show(await (await fetch('/api/v1/state')).json());
    element('large').hidden = large === null;
    if (large !== null) {
      const answer = await fetch('/api/v1/record?' + new URLSearchParams({stream: large}));
      if (answer.ok) element('large-record').textContent = JSON.stringify(await answer.json(), null, 1);
    }
    element('problem').hidden = true;
  } catch (error) {
    element('problem').textContent = 'vcap does not answer: ' + error.message;
    element('problem').hidden = false;
  }
  setTimeout(refresh, 1000);
}

keepShowing(element('large-picture'), () => large, 1280);
refresh();
