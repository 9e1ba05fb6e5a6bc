// SPDX-License-Identifier: Apache-2.0
// One stream, large: picture, record, controls.
import {change, get} from './api.js';
import {ConfigForm} from './config.js';
import {confirmed, make, newId, setText} from './dom.js';
import {OptionForm} from './options.js';
import {Painter} from './painter.js';
import {RecordView} from './record.js';
import {ShapeEditor} from './shapes.js';
import {atMostEvery, number, stateOf, sum} from './streams.js';

export class StreamView {
  #root;
  #access;
  #id = null;
  #forms = new Map();  // by capsule: {options, config}
  #readSettings = atMostEvery(500, () => this.#showSettings());

  // `access`: what the user may do (access.js).
  constructor(root, access) {
    this.#root = root;
    this.#access = access;
  }

  open(id, capsules) {
    this.#id = id;
    this.#forms.clear();
    const canvas = make('canvas', {width: 16, height: 9, role: 'img', 'aria-label': 'Newest picture of ' + id});
    this.painter = new Painter(canvas, (head) => { this.#root.dataset.pictureFrame = head.frame; });
    this.editor = new ShapeEditor();
    this.record = new RecordView();
    this.badge = make('span', {class: 'badge'});
    this.note = make('p', {class: 'note'});
    this.figures = make('p', {class: 'quiet'});
    this.message = make('p', {class: 'outcome', role: 'status'});
    this.recordings = make('p', {class: 'quiet'});
    const operates = this.#access.operates(id);
    // Beside controls, only what is short.
    const [objects, attributes, tracks, ...others] = this.record.panels;
    const under = operates ? [objects, attributes, tracks] : [objects];
    this.record.root.replaceChildren(...(operates ? [] : [attributes, tracks]), ...others);
    this.#root.replaceChildren(
      make('div', {class: 'row title'}, make('a', {href: '#/wall', text: '← Streams'}), make('h1', {text: id}), this.badge,
        ...this.#buttons(id)),
      this.note, this.message, this.recordings,
      make('div', {class: 'split'},
        make('div', {}, make('div', {class: 'picture large'}, canvas, this.editor.root), this.figures, ...under),
        make('div', {class: 'side'}, operates ? this.#controls(id, capsules) : null, this.record.root)));
    this.#root.dataset.stream = id;
    delete this.#root.dataset.pictureFrame;
    if (operates) this.#showSettings();
  }

  close() {
    this.#id = null;
    this.editor?.cancel();
  }

  #buttons(id) {
    const buttons = [];
    if (this.#access.records(id))
      buttons.push(this.#button('start-recording', 'Record', () => this.#record('POST')),
        this.#button('stop-recording', 'Stop recording', () => this.#record('DELETE')));
    if (this.#access.manages(id)) buttons.push(this.#button('remove', 'Remove', () => this.#remove(), 'danger'));
    return buttons;
  }

  #button(action, text, onclick, kind) {
    return make('button', {type: 'button', class: kind, 'data-action': action, text, onclick});
  }

  #controls(id, capsules) {
    const all = make('input', {type: 'checkbox', id: newId(), 'data-field': 'all-streams'});
    const panel = make('section', {class: 'panel controls', 'data-panel': 'controls'}, make('h2', {text: 'Controls'}));
    if (this.#access.operatesAll())
      panel.append(make('div', {class: 'row'}, all, make('label', {for: all.id, text: 'Change options for all streams'})));
    for (const capsule of capsules) {
      const options = new OptionForm(id, capsule, () => all.checked);
      const config = capsule.stream_config_schema ? new ConfigForm(id, capsule, this.editor) : null;
      this.#forms.set(capsule.name, {options, config});
      if (!options.root && !config) continue;
      panel.append(make('details', {open: true, 'data-capsule': capsule.name},
        make('summary', {}, make('strong', {text: capsule.name}), make('span', {class: 'quiet', text: ` version ${capsule.version}`})),
        capsule.description ? make('p', {class: 'hint', text: capsule.description}) : null,
        options.root, config ? make('h3', {text: 'Config of this stream'}) : null, config?.root));
    }
    return panel;
  }

  // The present values; other users may have changed them.
  async #showSettings() {
    const id = this.#id;
    if (id === null) return;
    try {
      const {capsules} = await get('settings', {stream: id});
      if (id !== this.#id) return;
      const given = new Set(capsules.map((one) => one.name));
      for (const {name, options, config} of capsules) {
        this.#forms.get(name)?.options.show(options ?? {});
        this.#forms.get(name)?.config?.show(config ?? {});
      }
      for (const part of this.#root.querySelectorAll('.controls > details'))
        part.hidden = !given.has(part.dataset.capsule);  // the stream does not go through it
    } catch (error) {
      this.#say(error.message, true);
    }
  }

  picture(head, jpeg) { if (head.stream === this.#id) this.painter.show(head, jpeg); }

  addRecord(head, record) {
    if (head.stream !== this.#id) return;
    this.record.add(record);
    if ([record.option_changes, record.config_changes, record.replacements].some((list) => list?.length > 0)) this.#readSettings();
  }

  // Gives false if there is no such stream any longer.
  update({stats, errors, recordings}) {
    const stream = stats.streams.find((one) => one.id === this.#id);
    if (!stream) return false;
    const {word, text} = stateOf(stream);
    this.badge.dataset.state = this.#root.dataset.state = word;
    setText(this.badge, word);
    setText(this.note, text);
    setText(this.figures, [`${number(stream.frames_per_second)} frames/s`, `${stream.recorded} recorded`,
      `${stream.in_flight} in flight`, `latency p50 ${number(stream.latency_ms?.p50)} ms, p95 ${number(stream.latency_ms?.p95)} ms`,
      `${sum(stream.drops)} dropped`, `${stream.errors} errors`, stream.source ?? ''].filter(Boolean).join(' · '));
    this.record.showErrors(errors?.[this.#id] ?? []);
    const files = recordings?.[this.#id];
    this.#root.dataset.recording = files ? 'yes' : 'no';
    setText(this.recordings, files ? 'Recording: ' + files.join(', ') : '');
    for (const button of this.#root.querySelectorAll('[data-action$="-recording"]'))
      button.hidden = (button.dataset.action === 'stop-recording') !== Boolean(files);
    return true;
  }

  async #record(method) {
    try {
      const {files} = await change(method, 'recording', {stream: this.#id});
      this.#say(`${method === 'POST' ? 'Records to' : 'Recorded'} ${(files ?? []).join(', ')}`);
    } catch (error) {
      this.#say(error.message, true);
    }
  }

  async #remove() {
    const id = this.#id;
    if (!await confirmed(`Remove the stream ${id}? Its outputs are finished.`, 'Remove')) return;
    try {
      await change('DELETE', 'streams', {stream: id});
      location.hash = '#/wall';
    } catch (error) {
      this.#say(error.message, true);
    }
  }

  #say(text, wrong = false) {
    this.message.textContent = text;
    this.message.classList.toggle('error', wrong);
  }
}
