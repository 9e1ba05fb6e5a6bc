// SPDX-License-Identifier: Apache-2.0
// The tracks of a stream's last minute: a line for each, from its first to its newest frame.

const kMinute = 60;
const kMostTracks = 30;
const kRow = 18;
const kNames = 130;  // the width of the names, in pixels

export class Timeline {
  #canvas;
  #tracks = new Map();  // by id, the one seen last at the end
  #newest = 0;          // seconds

  constructor(canvas) { this.#canvas = canvas; }

  add(record) {
    const at = (record.pts_ns ?? 0) / 1e9;
    if (at < this.#newest - 1) this.#tracks.clear();  // the stream begins again
    this.#newest = at;
    const visit = (node) => {
      if (node.track_id) this.#see(node, at);
      (node.children ?? []).forEach(visit);
    };
    record.objects.forEach(visit);
    for (const [id, track] of this.#tracks) if (track.last < at - kMinute) this.#tracks.delete(id);
  }

  #see(node, at) {
    const track = this.#tracks.get(node.track_id) ?? {name: node.name, first: at};
    this.#tracks.delete(node.track_id);
    this.#tracks.set(node.track_id, {...track, last: at});
  }

  get count() { return this.#tracks.size; }

  draw() {
    const shown = [...this.#tracks].slice(-kMostTracks).sort((a, b) => a[1].first - b[1].first);
    const canvas = this.#canvas;
    const width = canvas.clientWidth || 600;
    const height = Math.max(1, shown.length) * kRow + 20;
    const scale = devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = height + 'px';
    const context = canvas.getContext('2d');
    const style = getComputedStyle(canvas);
    context.scale(scale, scale);
    context.font = '12px ' + style.fontFamily;
    context.fillStyle = style.color;
    const x = (at) => kNames + (width - kNames - 8) * (1 - (this.#newest - at) / kMinute);
    this.#drawScale(context, x, height, style);
    shown.forEach(([id, track], row) => {
      const y = row * kRow + kRow / 2;
      context.fillText(`${track.name} ${id.slice(0, 8)}`, 0, y + 4, kNames - 8);
      context.save();
      context.fillStyle = style.getPropertyValue('--accent');
      context.globalAlpha = track.last === this.#newest ? 1 : 0.45;
      const from = Math.max(x(track.first), kNames);
      context.fillRect(from, y - 4, Math.max(2, x(track.last) - from), 8);
      context.restore();
    });
    canvas.setAttribute('aria-label', `${this.#tracks.size} tracks in the last minute`);
  }

  #drawScale(context, x, height, style) {
    context.save();
    context.strokeStyle = style.getPropertyValue('--line');
    for (const ago of [60, 45, 30, 15, 0]) {
      const at = Math.round(x(this.#newest - ago)) + 0.5;
      context.beginPath();
      context.moveTo(at, 0);
      context.lineTo(at, height - 16);
      context.stroke();
      context.textAlign = ago === 0 ? 'right' : 'center';
      context.fillText(ago === 0 ? 'now' : `-${ago} s`, ago === 0 ? at + 4 : at, height - 4);
    }
    context.restore();
  }
}
