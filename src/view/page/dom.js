// SPDX-License-Identifier: Apache-2.0
// Elements are made here. Text comes in only as text nodes, so markup in it stays text.

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'text') element.textContent = value;
    else if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function makeSvg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

export const byId = (id) => document.getElementById(id);

// Changes nothing if the text is the same, so that a selection by the reader stays.
export function setText(element, text) {
  if (element.textContent !== String(text)) element.textContent = text;
}

let lastId = 0;
export const newId = () => 'field-' + ++lastId;

export function makeTable(heads, rows) {
  return make('table', {},
    make('thead', {}, make('tr', {}, ...heads.map((text) => make('th', {scope: 'col', text})))),
    make('tbody', {}, ...rows.map((cells) =>
      make('tr', {}, ...cells.map((text) => make('td', {text}))))));
}

// Asks before something that cannot be undone. Gives true if the user agrees.
export function confirmed(question, verb) {
  return new Promise((resolve) => {
    const dialog = make('dialog', {'aria-label': question, onclose: () => {
      resolve(dialog.returnValue === 'yes');
      dialog.remove();
    }},
    make('p', {text: question}),
    make('div', {class: 'row end'},
      make('button', {type: 'button', text: 'Cancel', autofocus: true, onclick: () => dialog.close('no')}),
      make('button', {type: 'button', class: 'danger', text: verb, 'data-action': 'confirm',
        onclick: () => dialog.close('yes')})));
    document.body.append(dialog);
    dialog.showModal();
  });
}
