// SPDX-License-Identifier: Apache-2.0
// What the newest record of a stream says: objects, attributes, tracks, errors, the record itself.
import {make, makeTable, setText} from './dom.js';
import {atMostEvery, number} from './streams.js';
import {Timeline} from './timeline.js';

const kMostRows = 200;
const kMostJson = 200000;  // characters
const kMostWarnings = 20;

function flat(objects, depth = 0, into = []) {
  for (const node of objects) {
    into.push({node, depth});
    flat(node.children ?? [], depth + 1, into);
  }
  return into;
}

const attributesOf = (node) =>
  Object.entries(node.attributes ?? {}).map(([name, value]) => `${name}: ${value}`).join(', ');

// How often each value of each attribute is there: "colour: red 3, blue 1".
function countAttributes(nodes) {
  const counts = new Map();
  for (const {node} of nodes) {
    for (const [name, value] of Object.entries(node.attributes ?? {})) {
      if (!counts.has(name)) counts.set(name, new Map());
      counts.get(name).set(value, (counts.get(name).get(value) ?? 0) + 1);
    }
  }
  return counts;
}

export class RecordView {
  #frame = make('p', {class: 'quiet'});
  #objects = make('div', {class: 'scroll'});
  #attributes = make('dl', {class: 'pairs'});
  #errors = make('ul', {class: 'messages'});
  #canvas = make('canvas', {class: 'timeline', role: 'img'});
  #timeline = new Timeline(this.#canvas);
  #json = make('pre', {tabindex: 0, 'aria-label': 'Newest record as JSON'});
  #fromServer = [];        // the errors of the server's state
  #warnings = new Map();   // different ones of the records here, the newest at the end
  #details = make('details', {class: 'panel wide'}, make('summary', {text: 'Newest record (JSON)'}), this.#json);
  #redraw = atMostEvery(200, (record) => this.#show(record));

  constructor() {
    const panel = (title, ...parts) => make('section', {class: 'panel'}, make('h2', {text: title}), ...parts);
    this.panels = [
      panel('Objects', this.#frame, this.#objects),
      panel('Attributes', this.#attributes),
      panel('Tracks of the last minute', this.#canvas),
      panel('Errors and warnings', this.#errors),
      this.#details,
    ];
    this.root = make('div', {class: 'records'}, ...this.panels);
  }

  add(record) {
    this.#timeline.add(record);
    this.#addWarnings(record);
    this.#redraw(record);
  }

  // The different errors of the last time, from the server's state.
  showErrors(errors) {
    this.#fromServer = errors;
    this.#showMessages();
  }

  #addWarnings(record) {
    for (const one of record.warnings ?? []) {
      const key = `${one.capsule} ${one.code} ${one.message}`;
      const count = 1 + (this.#warnings.get(key)?.count ?? 0);
      this.#warnings.delete(key);
      this.#warnings.set(key, {...one, frame: record.frame_index, count});
      if (this.#warnings.size > kMostWarnings) this.#warnings.delete(this.#warnings.keys().next().value);
    }
  }

  #showMessages() {
    const line = (level) => (one) => ({level, text: `${level}, ${one.capsule}: ${one.message} (${one.code}, frame ${one.frame}` +
      `${one.count > 1 ? `, ${one.count} times` : ''})`});
    const lines = [...this.#fromServer.map(line('error')), ...[...this.#warnings.values()].reverse().map(line('warning'))];
    if (lines.length === 0) lines.push({level: 'quiet', text: 'None.'});
    while (this.#errors.children.length > lines.length) this.#errors.lastChild.remove();
    while (this.#errors.children.length < lines.length) this.#errors.append(make('li'));
    lines.forEach(({level, text}, i) => {
      this.#errors.children[i].className = level;
      setText(this.#errors.children[i], text);
    });
  }

  #show(record) {
    const nodes = flat(record.objects);
    setText(this.#frame, `Frame ${record.frame_index}, ${number((record.pts_ns ?? 0) / 1e9, 2)} s: ${nodes.length} objects`);
    this.root.dataset.frame = record.frame_index;
    this.#objects.replaceChildren(nodes.length === 0 ? make('p', {class: 'quiet', text: 'None.'}) :
      makeTable(['Name', 'Confidence', 'Attributes', 'Track'], nodes.slice(0, kMostRows).map(({node, depth}) =>
        ['\u2003'.repeat(depth) + node.name, node.confidence === undefined ? '' : number(node.confidence, 2),
          attributesOf(node), (node.track_id ?? '').slice(0, 8)])));
    if (nodes.length > kMostRows)
      this.#objects.append(make('p', {class: 'quiet', text: `and ${nodes.length - kMostRows} more`}));
    this.#showAttributes(nodes);
    this.#timeline.draw();
    if (this.#details.open) {
      const text = JSON.stringify(record, null, 1);
      setText(this.#json, text.length > kMostJson ? text.slice(0, kMostJson) + '\n…' : text);
    }
  }

  #showAttributes(nodes) {
    const rows = [...countAttributes(nodes)].sort().flatMap(([name, values]) => [
      make('dt', {text: name}),
      make('dd', {text: [...values].sort((a, b) => b[1] - a[1]).map(([value, count]) => `${value} ${count}`).join(', ')}),
    ]);
    this.#attributes.replaceChildren(...(rows.length > 0 ? rows : [make('dd', {class: 'quiet', text: 'None.'})]));
  }
}
