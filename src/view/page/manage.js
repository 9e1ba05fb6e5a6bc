// SPDX-License-Identifier: Apache-2.0
// Streams that are added, and capsules that are replaced.
import {change} from './api.js';
import {make, newId} from './dom.js';
import {framesText} from './options.js';

function labelled(text, input, hint) {
  input.id = newId();
  return make('div', {class: 'field'}, make('label', {for: input.id, text}), make('div', {class: 'inputs'}, input),
    hint ? make('p', {class: 'hint', text: hint}) : null);
}

// A form whose outcome is told under it. `task` gives what to say.
function form(title, name, parts, verb, task) {
  const outcome = make('p', {class: 'outcome', role: 'status'});
  const button = make('button', {class: 'primary', text: verb});
  const tell = (text, wrong) => {
    outcome.textContent = text;
    outcome.classList.toggle('error', wrong);
  };
  const root = make('form', {class: 'panel', 'data-form': name, onsubmit: async (event) => {
    event.preventDefault();
    button.disabled = true;
    tell('…', false);
    try {
      tell(await task(root), false);
    } catch (error) {
      tell(error.message, true);
    }
    button.disabled = false;
  }}, make('h2', {text: title}), ...parts, button, outcome);
  return root;
}

function sourceForm(capsules) {
  const id = make('input', {name: 'id', required: true, autocomplete: 'off', spellcheck: 'false'});
  const source = make('input', {name: 'source', required: true, autocomplete: 'off', spellcheck: 'false', inputmode: 'url'});
  const boxes = capsules.map((capsule) => make('input', {type: 'checkbox', name: 'capsule', value: capsule.name, checked: true}));
  const choice = make('fieldset', {}, make('legend', {text: 'Capsules'}),
    ...boxes.map((box) => make('label', {class: 'check'}, box, ' ', box.value)));
  return form('Add a stream', 'add', [labelled('Name', id),
    labelled('URL or path', source, 'Such as rtsp://…, http://…, or a file that the server may read'),
    boxes.length > 0 ? choice : null], 'Add', async (root) => {
    const body = {id: id.value, source: source.value};
    if (boxes.some((box) => !box.checked)) body.capsules = boxes.filter((box) => box.checked).map((box) => box.value);
    const {stream} = await change('POST', 'streams', {}, JSON.stringify(body));
    root.reset();
    return `${stream} runs.`;
  });
}

function uploadForm() {
  const file = make('input', {type: 'file', name: 'capsule', accept: '.cap', required: true});
  const trial = make('input', {type: 'number', name: 'trial', min: 0, step: 1, value: 100});
  return form('Replace a capsule', 'upload', [labelled('Capsule file (.cap)', file),
    labelled('Frames of the trial', trial, 'If the new capsule fails on one of so many frames, all streams go back to the old one; 0: no trial')],
  'Upload', async (root) => {
    const done = await change('PUT', 'capsule', {trial: trial.value || 0}, file.files[0]);
    root.reset();
    return `${done.capsule}: version ${done.to_version} instead of ${done.from_version}; ${framesText(done.frames)}`;
  });
}

// What the user may do, and nothing else.
export function showManage(root, access, capsules) {
  root.replaceChildren(...[access.adds() ? sourceForm(capsules) : null, access.uploads() ? uploadForm() : null]
    .filter((part) => part !== null));
}
