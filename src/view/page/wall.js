// SPDX-License-Identifier: Apache-2.0
// The pictures of all streams.
import {make, setText} from './dom.js';
import {Elsewhere} from './elsewhere.js';
import {Painter} from './painter.js';
import {number, stateOf, sum} from './streams.js';

class Tile {
  constructor(id) {
    this.canvas = make('canvas', {width: 16, height: 9, 'aria-hidden': 'true'});
    this.badge = make('span', {class: 'badge'});
    this.rate = make('span', {class: 'figure'});
    this.drops = make('span', {class: 'figure quiet'});
    this.note = make('p', {class: 'note'});
    this.root = make('a', {class: 'tile', href: '#/stream/' + encodeURIComponent(id), 'data-stream': id},
      make('div', {class: 'picture'}, this.canvas),
      make('div', {class: 'caption'},
        make('strong', {class: 'name', text: id, title: id}), this.badge, this.rate, this.drops),
      this.note);
    this.painter = new Painter(this.canvas, (head) => {
      this.root.dataset.frame = head.frame;
      this.skipped = head.dropped;
    });
    this.skipped = 0;
  }

  update(stream) {
    const {word, text} = stateOf(stream);
    this.root.dataset.state = word;
    this.badge.dataset.state = word;
    setText(this.badge, word);
    setText(this.note, text);
    setText(this.rate, `${number(stream.frames_per_second)} fps`);
    const drops = sum(stream.drops);
    setText(this.drops, drops > 0 ? `${drops} dropped` : '');
    this.drops.title = `${this.skipped ?? 0} pictures skipped by this page's connection`;
  }
}

export class Wall {
  #root;
  #tiles = new Map();
  #elsewhere = new Elsewhere();
  #empty = make('p', {class: 'empty', text: 'No streams run.'});

  constructor(root) {
    this.#root = root;
    root.append(this.#empty, this.#elsewhere.root);
  }

  // How wide pictures are worth while, and how many a second.
  static wish(streams) {
    return {width: streams.length <= 4 ? 640 : 320, rate: streams.length <= 9 ? 12 : 4};
  }

  update({stats, elsewhere}) {
    const ids = new Set(stats.streams.map((stream) => stream.id));
    for (const [id, tile] of this.#tiles) {
      if (ids.has(id)) continue;
      tile.root.remove();
      this.#tiles.delete(id);
    }
    for (const stream of stats.streams) {
      if (!this.#tiles.has(stream.id)) {
        this.#tiles.set(stream.id, new Tile(stream.id));
        this.#elsewhere.root.before(this.#tiles.get(stream.id).root);
      }
      this.#tiles.get(stream.id).update(stream);
    }
    this.#empty.hidden = ids.size > 0;
    this.#root.dataset.tiles = ids.size;
    this.#elsewhere.update(elsewhere ?? []);
  }

  picture(head, jpeg) { this.#tiles.get(head.stream)?.painter.show(head, jpeg); }
}
