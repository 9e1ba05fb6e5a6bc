// SPDX-License-Identifier: Apache-2.0
// Lines and polygons over the large picture: drawn, moved and deleted with the mouse or the keys.
// Points are fractions of the picture.
import {makeSvg} from './dom.js';

const kStep = 0.005;  // of an arrow key
const kLeast = {line: 2, polygon: 3};

const within = (value) => Math.min(1, Math.max(0, Math.round(value * 10000) / 10000));

// `shapes`: {kind, points, label} each. `changed()` is called after each change of them.
export class ShapeEditor {
  #svg;
  #shapes = [];
  #changed = () => {};
  #editable = false;
  #drawing = null;  // the shape that is being drawn
  #ended = null;
  #dragged = null;  // {shape, place}
  #pointer = null;

  constructor() {
    this.#svg = makeSvg('svg', {class: 'shapes', viewBox: '0 0 1 1', preserveAspectRatio: 'none',
      tabindex: -1, 'aria-label': 'Lines and polygons', onpointerdown: (event) => this.#press(event),
      onpointermove: (event) => this.#move(event), onpointerup: () => this.#release(),
      onpointercancel: () => this.#release(), oncontextmenu: (event) => this.#menu(event),
      ondblclick: () => this.finish(), onkeydown: (event) => this.#key(event)});
    this.root = this.#svg;
    new ResizeObserver(() => this.draw()).observe(this.#svg);
  }

  show(shapes, editable, changed = () => {}) {
    this.#shapes = shapes;
    this.#editable = editable;
    this.#changed = changed;
    this.draw();
  }

  // Gives the new shape's points; null if it was cancelled.
  begin(kind) {
    this.cancel();
    this.#drawing = {kind, points: []};
    this.#svg.classList.add('drawing');
    this.#svg.focus();
    this.draw();
    return new Promise((resolve) => { this.#ended = resolve; });
  }

  get isDrawing() { return this.#drawing !== null; }

  // Of too few points, nothing comes.
  finish() {
    if (!this.#drawing || this.#drawing.points.length < kLeast[this.#drawing.kind]) return;
    this.#end(this.#drawing.points);
  }

  cancel() { if (this.#drawing) this.#end(null); }

  #end(points) {
    this.#drawing = null;
    this.#pointer = null;
    this.#svg.classList.remove('drawing');
    const ended = this.#ended;
    this.#ended = null;
    this.draw();
    ended(points);
  }

  #at(event) {
    const box = this.#svg.getBoundingClientRect();
    return [within((event.clientX - box.left) / box.width), within((event.clientY - box.top) / box.height)];
  }

  #handle(event) {
    const {shape, place} = event.target.dataset ?? {};
    return shape === undefined ? null : {shape: this.#shapes[Number(shape)], place: Number(place)};
  }

  #press(event) {
    if (event.button !== 0) return;
    if (this.#drawing) return this.#add(event);
    this.#dragged = this.#editable ? this.#handle(event) : null;
    if (this.#dragged) this.#svg.setPointerCapture(event.pointerId);
  }

  #add(event) {
    const point = this.#at(event);
    const {kind, points} = this.#drawing;
    const last = points.at(-1);
    if (last && last[0] === point[0] && last[1] === point[1]) return;  // the second half of a double click
    const first = points[0];
    const box = this.#svg.getBoundingClientRect();
    if (kind === 'polygon' && points.length >= 3 &&
        Math.hypot((point[0] - first[0]) * box.width, (point[1] - first[1]) * box.height) < 10) return this.finish();
    points.push(point);
    if (kind === 'line' && points.length === 2) return this.finish();
    this.draw();
  }

  #move(event) {
    if (this.#drawing) {
      this.#pointer = this.#at(event);
      this.draw();
    } else if (this.#dragged) {
      this.#dragged.shape.points[this.#dragged.place] = this.#at(event);
      this.#changed();
      this.draw();
    }
  }

  #release() { this.#dragged = null; }

  #menu(event) {
    event.preventDefault();
    const handle = this.#editable && !this.#drawing ? this.#handle(event) : null;
    if (handle) this.#delete(handle);
  }

  // Of a shape with the fewest points that it can have, all are deleted.
  #delete({shape, place}) {
    if (shape.points.length > kLeast[shape.kind]) shape.points.splice(place, 1);
    else shape.points = [];
    this.#dragged = null;
    this.#changed();
    this.draw();
  }

  #key(event) {
    if (this.#drawing) {
      if (event.key === 'Escape') this.cancel();
      else if (event.key === 'Enter') this.finish();
      else if (event.key === 'Backspace') this.#drawing.points.pop();
      else return;
      event.preventDefault();
      return this.draw();
    }
    const handle = this.#editable ? this.#handle(event) : null;
    if (!handle) return;
    const move = {ArrowLeft: [-kStep, 0], ArrowRight: [kStep, 0], ArrowUp: [0, -kStep], ArrowDown: [0, kStep]}[event.key];
    if (event.key === 'Delete' || event.key === 'Backspace') {
      this.#delete(handle);
    } else if (move) {
      const point = handle.shape.points[handle.place];
      handle.shape.points[handle.place] = [within(point[0] + move[0]), within(point[1] + move[1])];
      this.#changed();
      const {shape, place} = event.target.dataset;
      this.draw();
      this.#svg.querySelector(`[data-shape="${shape}"][data-place="${place}"]`)?.focus();
    } else return;
    event.preventDefault();
  }

  draw() {
    const parts = this.#shapes.flatMap((shape, i) => this.#partsOf(shape, i));
    if (this.#drawing) {
      const points = this.#pointer ? [...this.#drawing.points, this.#pointer] : this.#drawing.points;
      parts.push(makeSvg('polyline', {class: 'shape new', points: points.map((p) => p.join()).join(' ')}));
      parts.push(...this.#drawing.points.map((point) => this.#dot(point, {class: 'handle new'})));
    }
    this.#svg.replaceChildren(...parts);
  }

  #partsOf(shape, i) {
    if (shape.points.length === 0) return [];
    const points = shape.points.map((point) => point.join()).join(' ');
    const outline = makeSvg(shape.kind === 'line' ? 'polyline' : 'polygon', {class: 'shape', points},
      makeSvg('title', {text: shape.label}));
    if (!this.#editable) return [outline];
    return [outline, ...shape.points.map((point, place) => this.#dot(point, {class: 'handle', tabindex: 0, role: 'button',
      'aria-label': `${shape.label}, point ${place + 1}: arrow keys move it, Delete deletes it`,
      'data-shape': i, 'data-place': place}))];
  }

  // Round on the screen, although the picture's width counts as much as its height.
  #dot([cx, cy], attributes) {
    const box = this.#svg.getBoundingClientRect();
    return makeSvg('ellipse', {cx, cy, rx: 7 / (box.width || 640), ry: 7 / (box.height || 360), ...attributes});
  }
}
