// SPDX-License-Identifier: Apache-2.0
// A form field for a JSON Schema: its title, description, default, bounds and unit.
import {make, newId} from './dom.js';

const shortly = (value) => typeof value === 'string' ? value : JSON.stringify(value);

function hintOf(schema) {
  const parts = [];
  if (schema.description) parts.push(schema.description);
  const {minimum: low, maximum: high} = schema;
  if (low !== undefined && high !== undefined) parts.push(`${low} to ${high}`);
  else if (low !== undefined) parts.push(`at least ${low}`);
  else if (high !== undefined) parts.push(`at most ${high}`);
  if (schema.default !== undefined) parts.push('default ' + (shortly(schema.default) || '(empty)'));
  return parts.join(' · ');
}

const isNumber = (schema) => schema.type === 'number' || schema.type === 'integer';

// Each kind gives {parts, main, read, write}: elements, the one with the label, and its value.
function booleanField(id, changed) {
  const box = make('input', {type: 'checkbox', id, onchange: changed});
  return {parts: [box], main: box, read: () => box.checked, write: (value) => { box.checked = value === true; }};
}

function choiceField(id, changed, schema) {
  const list = make('select', {id, onchange: changed},
    ...schema.enum.map((value) => make('option', {value: JSON.stringify(value), text: shortly(value)})));
  return {parts: [list], main: list, read: () => list.value === '' ? undefined : JSON.parse(list.value),
    write: (value) => { list.value = value === undefined ? '' : JSON.stringify(value); }};
}

function numberField(id, changed, schema) {
  const whole = schema.type === 'integer';
  const bounds = {min: schema.minimum, max: schema.maximum};
  const field = make('input', {type: 'number', id, ...bounds, step: whole ? 1 : 'any', inputmode: 'decimal', onchange: changed});
  const parts = [field];
  let slider = null;
  if (schema.minimum !== undefined && schema.maximum !== undefined && schema.maximum > schema.minimum) {
    const step = whole ? 1 : 10 ** Math.floor(Math.log10((schema.maximum - schema.minimum) / 100));
    slider = make('input', {type: 'range', ...bounds, step, 'aria-label': schema.title ?? 'value', tabindex: -1,
      oninput: () => { field.value = Number(Number(slider.value).toPrecision(6)); }, onchange: changed});
    field.addEventListener('input', () => { slider.value = field.value; });
    parts.unshift(slider);
  }
  if (schema.unit) parts.push(make('span', {class: 'quiet', text: schema.unit}));
  return {parts, main: field, read: () => field.value === '' ? undefined : Number(field.value),
    write: (value) => {
      field.value = value ?? '';
      if (slider) slider.value = value ?? schema.minimum;
    }};
}

function textField(id, changed, schema) {
  const field = make('input', {type: 'text', id, maxlength: schema.maxLength, onchange: changed, spellcheck: 'false'});
  return {parts: [field], main: field, write: (value) => { field.value = value ?? ''; },
    read: () => field.value === '' && (schema.minLength ?? 0) > 0 ? undefined : field.value};
}

// Whatever else: its JSON. An empty text means that the value is absent.
function jsonField(id, changed) {
  const field = make('textarea', {id, rows: 4, onchange: changed, spellcheck: 'false', class: 'code'});
  return {parts: [field], main: field, read: () => field.value.trim() === '' ? undefined : JSON.parse(field.value),
    write: (value) => { field.value = value === undefined ? '' : JSON.stringify(value, null, 1); }};
}

function kindOf(schema) {
  if (Array.isArray(schema.enum)) return choiceField;
  if (isNumber(schema)) return numberField;
  if (schema.type === 'boolean') return booleanField;
  return schema.type === 'string' ? textField : jsonField;
}

// `changed(field)` is called when the user has chosen another value. The field has `root`, `value`,
// `say(text, wrong)` for what became of a change, and `disable(flag)`. Reading `value` of a text
// that is not JSON throws SyntaxError.
export function makeField(name, schema, changed) {
  const id = newId();
  const field = {name, schema};
  const kind = kindOf(schema)(id, () => changed(field), schema);
  const outcome = make('output', {class: 'outcome', for: id});
  const hint = hintOf(schema);
  if (hint) kind.main.setAttribute('aria-describedby', id + '-hint');
  Object.defineProperty(field, 'value', {get: kind.read, set: kind.write});
  field.say = (text, wrong = false) => {
    outcome.textContent = text;
    outcome.classList.toggle('error', wrong);
    kind.main.setAttribute('aria-invalid', wrong);
  };
  field.disable = (flag) => kind.parts.forEach((part) => { part.disabled = flag; });
  field.hasFocus = () => kind.parts.includes(document.activeElement);
  field.root = make('div', {class: 'field', 'data-field': name},
    make('label', {for: id, text: schema.title ?? name}), make('div', {class: 'inputs'}, ...kind.parts),
    hint ? make('p', {class: 'hint', id: id + '-hint', text: hint}) : null, outcome);
  return field;
}
