// SPDX-License-Identifier: Apache-2.0
// The plan as a graph, from left to right, and what is wrong now.
import {make, makeSvg} from './dom.js';

const kWidth = 190;
const kGapX = 130;
const kGapY = 26;
const kLine = 15;
const kMargin = 16;
const kDepth = 44;  // of an arrow under the boxes

// Words in lines of about so many characters, at most four lines.
function wrapped(text, width = 28) {
  const lines = [''];
  for (const word of text.split(' ')) {
    if (lines.at(-1) !== '' && (lines.at(-1) + ' ' + word).length > width) lines.push('');
    lines[lines.length - 1] = (lines.at(-1) + ' ' + word).trimStart();
  }
  const cut = lines.slice(0, 4).map((one) => one.length > width + 2 ? one.slice(0, width) + '…' : one);
  if (lines.length > 4) cut[3] += '…';
  return cut;
}

function addsOf(step) {
  const adds = step.adds ?? {};
  const words = [...(adds.detections ?? []), ...Object.keys(adds.attributes ?? {}).map((name) => 'attribute ' + name)];
  if (adds.tracked) words.push('tracks');
  if (adds.encoded) words.push('encodings');
  for (const picture of step.gives_pictures ?? []) words.push('picture ' + (picture.name ?? ''));
  return words.length > 0 ? 'adds ' + words.join(', ') : 'adds nothing new';
}

// A box for the frame, one for each capsule, with the layer of each.
function boxesOf(plan) {
  const boxes = [{key: 'frame', title: 'frame', lines: [], layer: 0, kind: 'frame'}];
  const layers = new Map();
  plan.steps.forEach((step, i) => {
    const layer = 1 + Math.max(0, ...step.fed_by.map((name) => layers.get(name) ?? 0));
    layers.set(step.capsule, layer);
    boxes.push({key: 'step ' + step.capsule, title: `${i + 1}. ${step.capsule}`, lines: wrapped(addsOf(step)),
      full: step.reasons.join(' '), layer, kind: 'step'});
  });
  for (const out of plan.left_out)
    boxes.push({key: 'out ' + out.place, title: out.capsule, lines: wrapped('left out: ' + out.reason),
      full: out.reason, layer: 0, kind: 'left-out'});
  return boxes;
}

function place(boxes) {
  const columns = [];
  for (const box of boxes) {
    const column = columns[box.layer] ??= {y: kMargin};
    box.height = 28 + kLine * box.lines.length;
    box.x = kMargin + box.layer * (kWidth + kGapX);
    box.y = column.y;
    column.y += box.height + kGapY;
  }
  return {width: 2 * kMargin + columns.length * (kWidth + kGapX) - kGapX,
    height: Math.max(...columns.map((column) => column?.y ?? 0))};
}

function boxElement(box, problem) {
  const texts = [makeSvg('text', {class: 'title', x: box.x + 10, y: box.y + 19, text: box.title}),
    ...box.lines.map((text, i) => makeSvg('text', {x: box.x + 10, y: box.y + 19 + kLine * (i + 1), text}))];
  return makeSvg('g', {class: 'box ' + box.kind + (problem ? ' problem' : ''), 'data-box': box.key},
    makeSvg('title', {text: box.full || box.title}),
    makeSvg('rect', {x: box.x, y: box.y, width: kWidth, height: box.height, rx: 8}), ...texts);
}

// To the next layer an arrow goes straight on; any other passes under all boxes, `depth` deep.
function arrow(from, to, label, kind, depth) {
  const next = from.layer + 1 === to.layer && kind === 'supply';
  const [x1, y1] = next ? [from.x + kWidth, from.y + from.height / 2] : [from.x + kWidth / 2, from.y + from.height];
  const [x2, y2] = next ? [to.x - 3, to.y + to.height / 2] : [to.x + kWidth / 2 - 12, to.y + to.height + 3];
  const path = next ? `M${x1} ${y1} C${(x1 + x2) / 2} ${y1}, ${(x1 + x2) / 2} ${y2}, ${x2} ${y2}` :
    `M${x1} ${y1} C${x1} ${depth}, ${x2} ${depth}, ${x2} ${y2}`;
  const lines = wrapped(label, next ? 18 : 60);
  const middle = next ? (y1 + y2) / 2 - 6 - kLine * (lines.length - 1) : (y1 + y2) / 8 + depth * 0.75 + kLine;
  return makeSvg('g', {class: 'arrow ' + kind}, makeSvg('title', {text: label}),
    makeSvg('path', {d: path, 'marker-end': `url(#head-${kind})`}),
    ...lines.map((text, i) => makeSvg('text', {x: (x1 + x2) / 2, y: middle + kLine * i, text})));
}

const head = (kind) => makeSvg('marker', {id: 'head-' + kind, class: 'head ' + kind, viewBox: '0 0 8 8', refX: 7, refY: 4,
  markerWidth: 8, markerHeight: 8, orient: 'auto'}, makeSvg('path', {d: 'M0 0L8 4L0 8z'}));

function drawing(plan, quarantined) {
  const boxes = boxesOf(plan);
  const size = place(boxes);
  const found = new Map(boxes.map((box) => [box.key, box]));
  const arrows = [];
  const add = (from, to, label, kind) => {
    if (!from || !to) return;
    if (from.layer + 1 !== to.layer || kind !== 'supply') size.height += kDepth;
    arrows.push(arrow(from, to, label, kind, size.height + kGapY));
  };
  for (const step of plan.steps) {
    const to = found.get('step ' + step.capsule);
    if (step.fed_by.length === 0) add(found.get('frame'), to, '', 'supply');
    step.fed_by.forEach((name, i) => add(found.get('step ' + name), to, step.supplies?.[i] ?? '', 'supply'));
  }
  for (const one of plan.conflicts) add(found.get('step ' + one.first), found.get('step ' + one.second), one.text, 'conflict');
  const {width, height} = size;
  return makeSvg('svg', {class: 'plan', viewBox: `0 0 ${width} ${height}`, width, height, role: 'img',
    'aria-label': 'The plan of capsules'},
  makeSvg('defs', {}, head('supply'), head('conflict')), ...arrows,
  ...boxes.map((box) => boxElement(box, quarantined.has(box.key))));
}

function partsOf({streams, plan, text}, quarantined, several) {
  const problems = [...plan.conflicts.map((one) => make('li', {class: 'error', text: one.text})),
    ...plan.left_out.map((one) => make('li', {text: `${one.capsule} is left out: ${one.reason}`}))];
  return [make('section', {class: 'panel'}, make('h2', {text: several ? `Plan of ${streams.join(', ')}` : 'Plan'}),
    make('div', {class: 'scroll'}, drawing(plan, quarantined)), make('ul', {class: 'messages'}, ...problems)),
  make('details', {class: 'panel'}, make('summary', {text: 'In words'}),
    make('pre', {tabindex: 0, 'aria-label': 'The plan as text', text}))];
}

export class PlanView {
  #root;
  #shown = '';

  constructor(root) { this.#root = root; }

  update({plans, stats}) {
    const quarantined = new Set(stats.capsules.filter((one) => one.quarantined).map((one) => 'step ' + one.name));
    const several = plans.length > 1;
    const now = JSON.stringify([several ? plans : plans.map(({plan}) => plan), [...quarantined]]);
    if (now === this.#shown) return;
    this.#shown = now;
    this.#root.replaceChildren(...plans.flatMap((one) => partsOf(one, quarantined, several)));
    if (plans.length === 0) this.#root.append(make('p', {class: 'empty', text: 'No streams run here.'}));
  }
}
