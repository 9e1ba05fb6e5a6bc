// SPDX-License-Identifier: Apache-2.0
// The options of one capsule on one stream, or on all streams.
import {change} from './api.js';
import {make} from './dom.js';
import {makeField} from './fields.js';

// {"gate": 12} as "holds from frame 12"; of several streams, with their names.
export function framesText(frames, own) {
  const entries = Object.entries(frames);
  if (entries.length === 0) return 'no stream goes through the capsule';
  if (entries.length === 1 && entries[0][0] === own) return `holds from frame ${entries[0][1]}`;
  return 'holds from frame ' + entries.slice(0, 8).map(([id, frame]) => `${frame} of ${id}`).join(', ') +
    (entries.length > 8 ? ` and in ${entries.length - 8} more streams` : '');
}

export class OptionForm {
  #stream;
  #capsule;
  #scope;
  #fields;
  #good = {};  // the values that hold

  // `scope()`: whether a change is for all streams.
  constructor(stream, capsule, scope) {
    this.#stream = stream;
    this.#capsule = capsule.name;
    this.#scope = scope;
    this.#fields = Object.entries(capsule.options?.properties ?? {})
      .map(([name, schema]) => makeField(name, schema, (field) => this.#send(field)));
    this.root = this.#fields.length === 0 ? null : make('form', {class: 'options', 'data-capsule': capsule.name,
      onsubmit: (event) => event.preventDefault()}, ...this.#fields.map((field) => field.root));
  }

  // What another user has changed is shown, too, but not in a field that is being edited.
  show(values) {
    this.#good = {...values};
    for (const field of this.#fields) {
      if (field.hasFocus()) continue;
      field.value = values[field.name] ?? field.schema.default;
    }
  }

  async #send(field) {
    const value = field.value;
    const before = this.#good[field.name] ?? field.schema.default;
    if (value === undefined) {
      field.value = before;
      return field.say('a value is needed', true);
    }
    field.say('…');
    try {
      const stream = this.#scope() ? undefined : this.#stream;
      const {frames} = await change('PUT', 'option', {capsule: this.#capsule, option: field.name, stream},
        JSON.stringify(value));
      this.#good[field.name] = value;
      field.say(framesText(frames, this.#stream));
      field.root.dataset.from = frames[this.#stream] ?? '';
    } catch (error) {
      field.value = before;
      field.say(error.message, true);
    }
  }
}
