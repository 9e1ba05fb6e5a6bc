// SPDX-License-Identifier: Apache-2.0
// The log's newest lines, and what is wrong now.
import {byId, make, newId} from './dom.js';
import {problemsOf} from './streams.js';

const kMostLines = 500;
const kLevels = ['debug', 'info', 'warning', 'error'];

export class LogView {
  #root;
  #problems = make('ul', {class: 'messages'});
  #lines = make('ol', {class: 'log', tabindex: 0, 'aria-label': 'Log'});
  #level;
  #next = 0;  // the number of the first line that is not here

  constructor(root) {
    this.#root = root;
    const id = newId();
    this.#level = make('select', {id, onchange: () => { this.#lines.dataset.level = this.#level.value; }},
      ...kLevels.map((text) => make('option', {text, value: text})));
    this.#level.value = this.#lines.dataset.level = 'info';
    root.append(make('section', {class: 'panel'}, make('h2', {text: 'Problems now'}), this.#problems),
      make('section', {class: 'panel'}, make('div', {class: 'row'}, make('h2', {text: 'Log'}),
        make('label', {for: id, text: 'From level'}), this.#level), this.#lines));
  }

  update({stats, log}) {
    const problems = problemsOf(stats);
    this.#problems.replaceChildren(...(problems.length === 0 ? [make('li', {class: 'quiet', text: 'None.'})] :
      problems.map(({where, text}) => make('li', {class: 'error'}, make('strong', {text: where}), ' ', text))));
    byId('problem-count').hidden = problems.length === 0;
    byId('problem-count').textContent = problems.length;
    if (log) this.#add(log);
  }

  #add(log) {
    if (log.next < this.#next) {  // another run of vcap
      this.#next = 0;
      this.#lines.replaceChildren();
    }
    const list = this.#lines;
    const atEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 4;
    const lines = (log.lines ?? []).filter((line) => line.number >= this.#next);
    list.append(...lines.map((line) => make('li', {'data-level': line.level},
      make('time', {datetime: line.time, text: new Date(line.time).toLocaleTimeString()}),
      make('span', {class: 'level', text: line.level}), make('span', {text: line.text}))));
    this.#next = log.next ?? this.#next;
    while (list.children.length > kMostLines) list.firstChild.remove();
    if (atEnd && lines.length > 0) list.scrollTop = list.scrollHeight;
  }
}
