// SPDX-License-Identifier: Apache-2.0
// The config of one stream for one capsule: fields by its schema, or its JSON.
import {change} from './api.js';
import {make, newId} from './dom.js';
import {makeField} from './fields.js';

const isShape = (schema) => schema?.format === 'line' || schema?.format === 'polygon';

// The properties that are drawn: {name, kind, many, label}.
export function shapeProperties(schema) {
  return Object.entries(schema?.properties ?? {}).flatMap(([name, one]) => {
    const label = one.title ?? name;
    if (isShape(one)) return [{name, kind: one.format, many: false, label, hint: one.description}];
    if (isShape(one.items)) return [{name, kind: one.items.format, many: true, label, hint: one.description}];
    return [];
  });
}

export class ConfigForm {
  #stream;
  #capsule;
  #editor;
  #drawn;
  #fields;
  #good = {};
  #shapes = [];  // {property, kind, points, label}
  #lists = new Map();
  #text = make('textarea', {id: newId(), class: 'code', rows: 10, spellcheck: 'false'});
  #raw;
  #outcome = make('p', {class: 'outcome', role: 'status'});
  #edited = false;

  constructor(stream, capsule, editor) {
    this.#stream = stream;
    this.#capsule = capsule.name;
    this.#editor = editor;
    const schema = capsule.stream_config_schema;
    this.#drawn = shapeProperties(schema);
    const drawn = new Set(this.#drawn.map((one) => one.name));
    this.#fields = Object.entries(schema.properties ?? {}).filter(([name]) => !drawn.has(name))
      .map(([name, one]) => makeField(name, one, () => { this.#edited = true; }));
    this.#raw = make('details', {}, make('summary', {text: 'As JSON'}),
      make('label', {for: this.#text.id, text: 'The whole config; this text is what is saved while it is open'}), this.#text);
    this.#raw.addEventListener('toggle', () => this.#toggleText());
    this.#text.addEventListener('input', () => { this.#edited = true; });
    this.root = make('form', {class: 'config', 'data-capsule': capsule.name, onsubmit: (event) => this.#save(event)},
      ...this.#drawn.map((property) => this.#shapeField(property)), ...this.#fields.map((field) => field.root),
      this.#raw, make('div', {class: 'row'},
        make('button', {class: 'primary', 'data-action': 'save-config', text: 'Save'}),
        make('button', {type: 'button', 'data-action': 'last-good', text: 'Back to the values that hold',
          onclick: () => { this.#edited = false; this.#say(''); this.show(this.#good); }})), this.#outcome);
  }

  // Not over what the user is editing.
  show(config) {
    if (this.#edited || this.#editor.isDrawing) return;
    this.#good = config;
    for (const field of this.#fields) field.value = config[field.name] ?? field.schema.default;
    this.#shapes = this.#drawn.flatMap((property) => {
      const value = config[property.name];
      const list = value === undefined ? [] : property.many ? value : [value];
      return list.map((points) => this.#shape(property, points.map((point) => [...point])));
    });
    this.#text.value = JSON.stringify(config, null, 2);
    this.#showShapes();
  }

  #shape(property, points) { return {property, kind: property.kind, points, label: property.label}; }

  // The editor shows the shapes of the form that was used last.
  focus() { this.#editor.show(this.#shapes, true, () => { this.#edited = true; this.#showShapes(true); }); }

  #shapeField(property) {
    const list = make('ul', {class: 'shape-list'});
    this.#lists.set(property.name, list);
    return make('fieldset', {'data-field': property.name}, make('legend', {text: property.label}),
      property.hint ? make('p', {class: 'hint', text: property.hint}) : null, list,
      make('button', {type: 'button', 'data-action': 'draw', text: `Draw a ${property.kind}`,
        onclick: () => this.#draw(property)}));
  }

  async #draw(property) {
    this.#say(property.kind === 'line' ? 'Click its two ends in the picture. Escape cancels.' :
      'Click its corners in the picture; Enter or a click on the first corner ends it, Backspace takes the last one back, Escape cancels.');
    const points = await this.#editor.begin(property.kind);
    this.#say('');
    if (points === null) return;
    if (!property.many) this.#shapes = this.#shapes.filter((shape) => shape.property !== property);
    this.#shapes.push(this.#shape(property, points));
    this.#edited = true;
    this.#showShapes();
    this.#say('Not saved yet.');
  }

  #showShapes(fromEditor = false) {
    this.#shapes = this.#shapes.filter((shape) => shape.points.length > 0);
    for (const property of this.#drawn) {
      const own = this.#shapes.filter((shape) => shape.property === property);
      this.#lists.get(property.name).replaceChildren(...own.map((shape, i) => make('li', {},
        `${property.label}${property.many ? ' ' + (i + 1) : ''}: ${shape.points.length} points `,
        make('button', {type: 'button', class: 'small', text: 'Delete', 'data-action': 'delete-shape', onclick: () => {
          shape.points = [];
          this.#edited = true;
          this.#showShapes();
        }}))));
    }
    if (!fromEditor || this.#shapes.length === 0) this.focus();
    if (this.#raw.open) this.#text.value = JSON.stringify(this.#value(), null, 2);
  }

  #value() {
    const config = {...this.#good};
    for (const field of this.#fields) {
      if (field.value === undefined) delete config[field.name];
      else config[field.name] = field.value;
    }
    for (const property of this.#drawn) {
      const points = this.#shapes.filter((shape) => shape.property === property).map((shape) => shape.points);
      if (points.length === 0) delete config[property.name];
      else config[property.name] = property.many ? points : points[0];
    }
    return config;
  }

  #toggleText() {
    if (!this.#raw.open) return;
    try {
      this.#text.value = JSON.stringify(this.#value(), null, 2);
    } catch (error) {
      this.#say(error.message, true);
    }
  }

  async #save(event) {
    event.preventDefault();
    try {
      const text = this.#raw.open ? this.#text.value : JSON.stringify(this.#value());
      const {frame} = await change('PUT', 'config', {capsule: this.#capsule, stream: this.#stream}, text);
      this.#good = JSON.parse(text);
      this.#edited = false;
      this.#say(`holds from frame ${frame}`);
      this.root.dataset.from = frame;
      this.show(this.#good);
    } catch (error) {
      const [, line, column] = error.message.match(/line (\d+), column (\d+)/) ?? [];
      const place = error.line && !line ? ` (line ${error.line}, column ${error.column})` : '';
      this.#say(`${error.message.replace(/\.$/, '')}${place}. The last good config runs on.`, true);
      if (error.line ?? line) this.#select(Number(error.line ?? line), Number(error.column ?? column));
    }
  }

  // Shows the place of an error in the text.
  #select(line, column) {
    this.#raw.open = true;
    const before = this.#text.value.split('\n').slice(0, line - 1).reduce((all, one) => all + one.length + 1, 0);
    this.#text.focus();
    this.#text.setSelectionRange(before + column - 1, before + column);
  }

  #say(text, wrong = false) {
    this.#outcome.textContent = text;
    this.#outcome.classList.toggle('error', wrong);
  }
}
