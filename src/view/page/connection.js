// SPDX-License-Identifier: Apache-2.0
// One endless answer of /api/v1/live, asked for again when it breaks off.
import {send} from './api.js';
import {MessageParser} from './messages.js';

const kFirstWait = 500;
const kLongestWait = 10000;
const kLongestSilence = 15000;  // the server sends its state each second

function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, {once: true});
  });
}

async function readSoon(reader) {
  let timer;
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('it has been silent for 15 s')), kLongestSilence);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
}

export class LiveConnection {
  #abort = null;
  #hooks;

  // `hooks`: message(head, body), connected(), lost(error, milliseconds until the next try),
  // refused(error) for an answer that another try would not change.
  constructor(hooks) { this.#hooks = hooks; }

  // Ends what was looked at before.
  look(query) {
    this.close();
    this.#abort = new AbortController();
    this.#run(query, this.#abort.signal);
  }

  close() {
    this.#abort?.abort();
    this.#abort = null;
  }

  async #run(query, signal) {
    for (let wait = kFirstWait; !signal.aborted; wait = Math.min(2 * wait, kLongestWait)) {
      const attempt = new AbortController();
      const end = () => attempt.abort();
      signal.addEventListener('abort', end);
      try {
        await this.#read(query, attempt.signal, () => { wait = kFirstWait; });
      } catch (error) {
        if (signal.aborted) return;
        if ([401, 403, 404].includes(error.status)) return this.#hooks.refused(error);
        this.#hooks.lost(error, wait);
      } finally {
        signal.removeEventListener('abort', end);
        attempt.abort();  // a silent answer is not read any longer
      }
      await pause(wait, signal);
    }
  }

  async #read(query, signal, received) {
    const answer = await send('GET', 'live', {query, signal});
    const reader = answer.body.getReader();
    const parser = new MessageParser();
    let first = true;
    for (;;) {
      const {done, value} = await readSoon(reader);
      if (signal.aborted) return;
      if (done) throw new Error('the connection has ended');
      if (first) this.#hooks.connected();
      first = false;
      received();
      for (const {head, body} of parser.push(value)) this.#hooks.message(head, body);
    }
  }
}
