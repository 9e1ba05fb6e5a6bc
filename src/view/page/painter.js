// SPDX-License-Identifier: Apache-2.0
// Draws JPEG pictures on a canvas. A picture that comes while another is decoded waits; a newer one
// takes its place, so a slow browser shows fewer pictures, and always the newest.

export class Painter {
  #canvas;
  #drawn;
  #next = null;
  #busy = false;

  // `drawn(head)` is called after each picture.
  constructor(canvas, drawn = () => {}) {
    this.#canvas = canvas;
    this.#drawn = drawn;
  }

  show(head, jpeg) {
    this.#next = {head, jpeg};
    if (!this.#busy) this.#draw();
  }

  async #draw() {
    this.#busy = true;
    while (this.#next !== null) {
      const {head, jpeg} = this.#next;
      this.#next = null;
      try {
        const picture = await createImageBitmap(new Blob([jpeg], {type: 'image/jpeg'}));
        this.#put(picture);
        picture.close();
        this.#drawn(head);
      } catch {
        // A picture that cannot be decoded is skipped; the next one comes soon.
      }
    }
    this.#busy = false;
  }

  #put(picture) {
    const canvas = this.#canvas;
    if (canvas.width !== picture.width || canvas.height !== picture.height) {
      canvas.width = picture.width;
      canvas.height = picture.height;
    }
    canvas.getContext('2d', {alpha: false}).drawImage(picture, 0, 0);
    canvas.dataset.pictures = Number(canvas.dataset.pictures ?? 0) + 1;
  }
}
