// SPDX-License-Identifier: Apache-2.0
// Charts of the last two minutes, drawn by Chart.js.
import {make, newId} from './dom.js';
import {kSpan} from './history.js';

const kMostLines = 12;
const kColours = ['#1f6feb', '#d1652a', '#2da44e', '#a371f7', '#bf3989', '#0a9396', '#9a6700', '#cf222e',
  '#57606a', '#3fb6d3', '#8a9a2b', '#7d4e57'];

const line = (label, data, place, dashed = false) => ({
  label, data,
  borderColor: kColours[place % kColours.length],
  backgroundColor: kColours[place % kColours.length],
  borderDash: dashed ? [5, 4] : [],
  borderWidth: 1.5, pointRadius: 0, tension: 0.2,
});

function options(unit, colour, grid) {
  return {
    animation: false, responsive: true, maintainAspectRatio: false, parsing: false, normalized: true,
    interaction: {mode: 'nearest', axis: 'x', intersect: false},
    scales: {
      x: {type: 'linear', min: -kSpan, max: 0, grid: {color: grid},
        ticks: {color: colour, stepSize: 30, callback: (value) => value === 0 ? 'now' : `${value} s`}},
      y: {beginAtZero: true, grid: {color: grid}, ticks: {color: colour, maxTicksLimit: 6},
        title: {display: true, text: unit, color: colour}},
    },
    plugins: {
      legend: {position: 'bottom', labels: {color: colour, boxWidth: 10, boxHeight: 2}},
      tooltip: {callbacks: {title: (items) => `${Math.round(items[0]?.parsed.x ?? 0)} s`}},
    },
  };
}

export class Charts {
  #root;
  #history;
  #charts = [];
  #select;
  #note = make('p', {class: 'quiet'});

  constructor(root, history) {
    this.#root = root;
    this.#history = history;
    const id = newId();
    this.#select = make('select', {id, onchange: () => this.draw()}, make('option', {value: '', text: 'All streams'}));
    this.#select.dataset.field = 'chart-stream';
    this.#root.append(make('div', {class: 'row'}, make('label', {for: id, text: 'Stream'}), this.#select, this.#note));
    const grid = make('div', {class: 'charts'});
    this.#root.append(grid);
    this.#add(grid, 'Rate', 'frames/s', (ids, one) => [
      ...ids.map((stream, i) => line(stream, history.values(stream, 'rate'), i)),
      ...(one ? [] : [line('total', history.totals('rate'), ids.length, true)])]);
    this.#add(grid, 'Latency since the start of the stream', 'ms', (ids) => ids.flatMap((stream, i) => [
      line(`${stream} p50`, history.values(stream, 'p50'), i),
      line(`${stream} p95`, history.values(stream, 'p95'), i, true)]));
    this.#add(grid, 'Mean batch size, of all streams', 'inputs', () =>
      history.backends.map((backend, i) => line(backend, history.batchSizes(backend), i)));
    this.#add(grid, 'Drops and errors', 'a second', (ids, one) => [
      ...ids.flatMap((stream, i) => [line(`${stream} drops`, history.growth(stream, 'drops'), i),
        line(`${stream} errors`, history.growth(stream, 'errors'), i, true)]),
      ...(one ? [] : [line('total drops', history.growth(null, 'drops'), ids.length),
        line('total errors', history.growth(null, 'errors'), ids.length, true)])]);
  }

  #add(grid, title, unit, lines) {
    const canvas = make('canvas', {role: 'img', 'aria-label': title});
    grid.append(make('figure', {class: 'panel'}, make('figcaption', {text: title}),
      make('div', {class: 'chart'}, canvas)));
    this.#charts.push({canvas, unit, lines, chart: null});
  }

  #streams() {
    const all = this.#history.streams;
    const known = [...this.#select.options].slice(1).map((option) => option.value);
    if (known.join('\n') !== all.join('\n')) {
      const chosen = this.#select.value;
      this.#select.replaceChildren(this.#select.options[0],
        ...all.map((id) => make('option', {value: id, text: id})));
      this.#select.value = all.includes(chosen) ? chosen : '';
    }
    this.#note.textContent = this.#select.value === '' && all.length > kMostLines ?
      `Lines of the first ${kMostLines} of ${all.length} streams; the total is of all.` : '';
    return this.#select.value === '' ? all.slice(0, kMostLines) : [this.#select.value];
  }

  // Only what is seen is drawn.
  draw() {
    if (this.#root.hidden || typeof Chart === 'undefined') return;
    const ids = this.#streams();
    const style = getComputedStyle(this.#root);
    for (const one of this.#charts) {
      const shown = options(one.unit, style.color, style.getPropertyValue('--line'));
      const datasets = one.lines(ids, this.#select.value !== '');
      one.chart ??= new Chart(one.canvas, {type: 'line', data: {datasets: []}, options: shown});
      // Lines that the reader has switched off stay off.
      datasets.forEach((set, i) => {
        const meta = one.chart.getDatasetMeta(i);
        if (one.chart.data.datasets[i]?.label === set.label) set.hidden = meta.hidden ?? false;
      });
      one.chart.options = shown;
      one.chart.data.datasets = datasets;
      one.chart.update('none');
      one.canvas.dataset.points = datasets.reduce((all, set) => all + set.data.length, 0);
    }
  }
}
