// SPDX-License-Identifier: Apache-2.0
// What the user may do, from the answer of /api/v1/me. The server checks each request itself.

const kRanks = {viewer: 0, operator: 1, admin: 2};

export class Access {
  constructor(me) { this.me = me; }

  // Some views change nothing, whoever looks.
  #has(role) { return this.me.can?.change !== false && (kRanks[this.me.role] ?? 0) >= kRanks[role]; }
  #sees(stream) { return this.me.streams === null || this.me.streams === undefined || this.me.streams.includes(stream); }

  operates(stream) { return this.#has('operator') && this.#sees(stream); }
  operatesAll() { return this.#has('operator') && (this.me.streams === null || this.me.streams === undefined); }
  records(stream) { return this.operates(stream) && this.me.can?.record === true; }
  manages(stream) { return this.#has('admin') && this.#sees(stream); }
  adds() { return this.#has('admin') && this.me.can?.add_sources === true; }
  uploads() { return this.#has('admin') && this.me.can?.upload === true; }
}
