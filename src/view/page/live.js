// SPDX-License-Identifier: Apache-2.0
// The page: signing in, which view is shown, and where messages go.
import {Access} from './access.js';
import {forgetToken, get, savedToken, saveToken} from './api.js';
import {Charts} from './charts.js';
import {LiveConnection} from './connection.js';
import {byId, setText} from './dom.js';
import {History} from './history.js';
import {LogView} from './log.js';
import {showManage} from './manage.js';
import {jsonOf} from './messages.js';
import {PlanView} from './plan.js';
import {StreamView} from './stream.js';
import {duration} from './streams.js';
import {Wall} from './wall.js';

const kViews = ['login', 'wall', 'stream', 'charts', 'plan', 'log', 'manage'];

const history = new History();
const wall = new Wall(byId('wall'));
const charts = new Charts(byId('charts'), history);
const plan = new PlanView(byId('plan'));
const log = new LogView(byId('log'));
let stream = null;   // the view of one stream, once the user is known
let access = null;
let capsules = [];
let state = null;    // the newest
let asked = '';      // the query of what is looked at
let shown = {view: 'wall'};  // the address may be ahead of it: its event comes after other messages

const connection = new LiveConnection({
  connected() {
    byId('problem').hidden = true;
    document.body.dataset.connection = 'live';
  },
  message(head, body) {
    if (head.type === 'picture') (shown.view === 'stream' ? stream : wall).picture(head, body);
    else if (head.type === 'record') stream.addRecord(head, jsonOf(body));
    else if (head.type === 'state') showState(jsonOf(body));
  },
  lost(error, wait) {
    showProblem(`vcap does not answer: ${error.message}. Trying again in ${wait / 1000} s.`);
    setText(byId('connection'), 'Not connected');
    document.body.dataset.connection = 'lost';
  },
  refused(error) {
    if (error.status === 401) return showLogin(error.message);
    if (error.status === 404) location.hash = '#/wall';
    else showProblem(error.message);
  },
});

function showProblem(text) {
  setText(byId('problem'), text);
  byId('problem').hidden = false;
}

function where() {
  const [, view, id] = location.hash.split('/');
  if (view === 'stream' && id) {
    try {
      return {view, id: decodeURIComponent(id)};
    } catch {
      return {view: 'wall'};
    }
  }
  return {view: kViews.includes(view) && view !== 'login' && view !== 'stream' ? view : 'wall'};
}

function showOnly(view) {
  for (const one of kViews) byId(one).hidden = one !== view;
  byId('views').hidden = view === 'login';
  for (const link of byId('views').children) {
    if (link.hash === '#/' + view || (view === 'stream' && link.hash === '#/wall')) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.body.dataset.view = view;
}

// Looks at what the view shows; does nothing if that is looked at already.
function look() {
  const {view, id} = shown;
  let query = {width: 320, rate: 1};
  if (view === 'wall') query = Wall.wish(state?.stats.streams ?? []);
  if (view === 'stream') query = {width: 320, rate: 20, stream: id, large: id};
  if (JSON.stringify(query) === asked) return;
  asked = JSON.stringify(query);
  connection.look(query);
}

function showView() {
  if (access === null) return;
  shown = where();
  const {view, id} = shown;
  stream.close();
  showOnly(view);
  document.title = view === 'stream' ? `${id} – vcap` : 'vcap';
  if (view === 'stream') stream.open(id, capsules);
  look();
  if (state !== null) showState(state);
}

function showState(newest) {
  const versions = (one) => one?.stats.capsules.map((capsule) => `${capsule.name} ${capsule.version}`).join();
  if (state !== null && versions(state) !== versions(newest)) readCapsules();
  state = newest;
  const {view} = shown;
  history.add(state);
  wall.update(state);
  plan.update(state);
  log.update(state);
  if (view === 'charts') charts.draw();
  if (view === 'stream' && !stream.update(state)) location.hash = '#/wall';
  if (view === 'wall') look();
  const count = state.stats.streams.length;
  setText(byId('connection'), `${count} ${count === 1 ? 'stream' : 'streams'} · up ${duration(state.uptime_s ?? state.stats.uptime_s)}` +
    (state.viewers > 1 ? ` · ${state.viewers} viewers` : '') + (access.me.name ? ` · ${access.me.name} (${access.me.role})` : ''));
}

async function readCapsules() {
  try {
    capsules = (await get('capsules')).capsules;
    showManage(byId('manage'), access, capsules);
    if (shown.view === 'stream') stream.open(shown.id, capsules);
  } catch {
    // The connection says if vcap does not answer; the next state tries again.
  }
}

function showLogin(message) {
  connection.close();
  asked = '';
  access = null;
  setText(byId('login-error'), savedToken() ? message : '');
  forgetToken();
  byId('sign-out').hidden = true;
  setText(byId('connection'), '');
  showOnly('login');
  byId('token').focus();
}

async function start() {
  try {
    access = new Access(await get('me'));
    capsules = (await get('capsules')).capsules;
    state = await get('state');
  } catch (error) {
    if (error.status === 401) return showLogin(error.message);
    showProblem(`vcap does not answer: ${error.message}. Trying again in 2 s.`);
    setTimeout(start, 2000);
    return;
  }
  byId('problem').hidden = true;
  byId('sign-out').hidden = !savedToken();
  byId('manage-link').hidden = !access.adds() && !access.uploads();
  document.body.dataset.role = access.me.role;
  stream = new StreamView(byId('stream'), access);
  showManage(byId('manage'), access, capsules);
  showView();
}

byId('login-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const token = byId('token').value.trim();
  if (!/^[\x21-\x7e]+$/.test(token)) {
    byId('login-error').textContent = 'A token has only printable ASCII characters, and no spaces.';
    return;
  }
  saveToken(token);
  byId('token').value = '';
  start();
});
byId('sign-out').addEventListener('click', () => showLogin(''));
addEventListener('hashchange', showView);
start();
