// SPDX-License-Identifier: Apache-2.0
// The streams that other processes run, with links to their live views.
import {make} from './dom.js';

function rowOf({id, state, worker, view, reason}) {
  // The address comes from another process, so it must be one of a page.
  const href = /^https?:\/\//.test(view) ? `${view.split('#')[0]}#/stream/${encodeURIComponent(id)}` : null;
  return make('tr', {'data-elsewhere': id, 'data-state': state},
    make('td', {}, href === null ? make('span', {text: id}) : make('a', {href, rel: 'noreferrer', text: id})),
    make('td', {}, make('span', {class: 'badge', 'data-state': state, text: state})),
    make('td', {text: worker}), make('td', {text: reason}));
}

export class Elsewhere {
  #rows = make('tbody');
  #shown = '';

  constructor() {
    const heads = ['Stream', 'State', 'Worker', ''].map((text) => make('th', {scope: 'col', text}));
    this.root = make('section', {class: 'panel elsewhere', hidden: true}, make('h2', {text: 'Streams elsewhere'}),
      make('div', {class: 'scroll'}, make('table', {}, make('thead', {}, make('tr', {}, ...heads)), this.#rows)));
  }

  update(streams) {
    const now = JSON.stringify(streams);
    if (now === this.#shown) return;
    this.#shown = now;
    this.#rows.replaceChildren(...streams.map(rowOf));
    this.root.hidden = streams.length === 0;
  }
}
