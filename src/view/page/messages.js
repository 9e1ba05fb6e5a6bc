// SPDX-License-Identifier: Apache-2.0
// The messages of /api/v1/live: a line of JSON, whose "bytes" says how many bytes follow it.

const kMostHead = 64 * 1024;
const kMostBody = 64 * 1024 * 1024;
const kNewline = 10;

// Takes the answer in pieces of any size. Thrown errors are final: where the next message begins is
// then unknown, so the answer must be given up.
export class MessageParser {
  #line = [];       // pieces of a line whose end has not come
  #lineBytes = 0;
  #head = null;
  #body = null;     // null: a line comes
  #filled = 0;

  // Gives the messages that end in this piece, as {head, body}.
  push(piece) {
    const done = [];
    let at = 0;
    while (at < piece.length) {
      if (this.#body === null) {
        const end = piece.indexOf(kNewline, at);
        this.#addToLine(piece.slice(at, end < 0 ? piece.length : end));
        if (end < 0) break;
        at = end + 1;
        this.#readHead();
      }
      const part = piece.subarray(at, at + this.#body.length - this.#filled);
      this.#body.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled < this.#body.length) break;
      done.push({head: this.#head, body: this.#body});
      this.#body = null;
    }
    return done;
  }

  #addToLine(bytes) {
    this.#lineBytes += bytes.length;
    if (this.#lineBytes > kMostHead) throw new Error('a message begins with too long a line');
    this.#line.push(bytes);
  }

  #readHead() {
    const line = new Uint8Array(this.#lineBytes);
    let at = 0;
    for (const bytes of this.#line) {
      line.set(bytes, at);
      at += bytes.length;
    }
    this.#line = [];
    this.#lineBytes = 0;
    this.#head = JSON.parse(new TextDecoder('utf-8', {fatal: true}).decode(line));
    const bytes = this.#head?.bytes;
    if (!Number.isInteger(bytes) || bytes < 0 || bytes > kMostBody)
      throw new Error('a message does not say how long it is');
    this.#body = new Uint8Array(bytes);
    this.#filled = 0;
  }
}

export const jsonOf = (body) => JSON.parse(new TextDecoder().decode(body));
