// SPDX-License-Identifier: Apache-2.0
// Requests to the server that gave this page. The token is sent as a header, never in a URL.

const kTokenKey = 'vcap-token';

// `line` and `column` are there if a JSON text does not parse.
export class ApiError extends Error {
  constructor(status, error = {}) {
    super(error.message ?? `vcap answered with status ${status}`);
    this.status = status;
    this.code = error.code;
    this.line = error.line;
    this.column = error.column;
  }
}

export const savedToken = () => sessionStorage.getItem(kTokenKey);
export const saveToken = (token) => sessionStorage.setItem(kTokenKey, token);
export const forgetToken = () => sessionStorage.removeItem(kTokenKey);

// A query of names and values; a list gives its name once for each value.
export function queryText(query) {
  const pairs = [];
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    for (const one of Array.isArray(value) ? value : [value]) pairs.push([name, one]);
  }
  return pairs.length === 0 ? '' : '?' + new URLSearchParams(pairs);
}

// `body`: text or a file; `signal` aborts. Throws ApiError for every status but 2xx.
export async function send(method, path, {query = {}, body, signal} = {}) {
  const headers = {};
  if (savedToken()) headers.Authorization = 'Bearer ' + savedToken();
  if (method !== 'GET') headers['X-Vcap'] = '1';
  const answer = await fetch('/api/v1/' + path + queryText(query),
    {method, headers, body, signal, cache: 'no-store', redirect: 'error'});
  if (answer.ok) return answer;
  let error;
  try {
    error = (await answer.json()).error;
  } catch {
    // Not every answer is of vcap: a proxy may stand between.
  }
  throw new ApiError(answer.status, error);
}

export async function get(path, query) {
  return (await send('GET', path, {query})).json();
}

export async function change(method, path, query, body) {
  return (await send(method, path, {query, body})).json();
}
