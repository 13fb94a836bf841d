// Plants faults in the module as it is loaded: its text is replaced once by one that holds all of them, each asleep until it
// is wanted. The same text tells which places a call came by, and what it compared.
'use strict';

const { SourceMap } = require('node:module');
const { NAME, planted, sites } = require('./sites.cjs');

const MOST_SITES = 4000;
const MOST_SEEN = 300;
const COMPARED = new Set(['==', '!=', '===', '!==', '<', '>', '<=', '>=']);

const DO = {
  '==': (a, b) => a == b, '!=': (a, b) => a != b, '===': (a, b) => a === b, '!==': (a, b) => a !== b, // eslint-disable-line eqeqeq
  '<': (a, b) => a < b, '>': (a, b) => a > b, '<=': (a, b) => a <= b, '>=': (a, b) => a >= b,
  '+': (a, b) => a + b, '-': (a, b) => a - b, '*': (a, b) => a * b, '/': (a, b) => a / b, '%': (a, b) => a % b,
  '&': (a, b) => a & b, '|': (a, b) => a | b, '<<': (a, b) => a << b, '>>': (a, b) => a >> b,
};
const OTHER = {
  '==': '!=', '!=': '==', '===': '!==', '!==': '===', '<': '<=', '>': '>=', '<=': '<', '>=': '>',
  '+': '-', '-': '+', '*': '/', '/': '*', '%': '*', '&': '|', '|': '&', '<<': '>>', '>>': '<<',
};

// What the planted text calls.
function runtime(count) {
  const state = {
    active: -1,
    hits: new Uint8Array(count),
    seen: null,
    // The left side of the last && or ||.
    t: undefined,
    a(id) {
      state.hits[id] = 1;
      return state.active === id;
    },
    v: (id, value, other) => (state.a(id) ? other : value),
    q: (id, value) => (state.a(id) ? !value : value),
    r: (id, value) => (state.a(id) ? undefined : value),
    m(id, sign, value) {
      if (!state.a(id)) return value;
      if (typeof value === 'bigint') return sign === '+=' || sign === '-=' ? -value : value + 1n;
      if (typeof value !== 'number') return NaN;
      return sign === '+=' || sign === '-=' ? -value : 1 / value;
    },
    b(id, sign, left, right) {
      if (state.seen !== null && COMPARED.has(sign) && state.seen.length < MOST_SEEN) state.seen.push([left, right]);
      return DO[state.a(id) ? OTHER[sign] : sign](left, right);
    },
    c(id, value) {
      state.t = value;
      return state.a(id) ? !value : Boolean(value);
    },
    d(id, value) {
      state.t = value;
      return state.a(id) ? Boolean(value) : !value;
    },
    e(id, value) {
      state.t = value;
      return state.a(id) ? Boolean(value) : value === null || value === undefined;
    },
  };
  return state;
}

class Faults {
  constructor(cover) {
    this.cover = cover;
    this.sites = [];
    this.state = runtime(0);
  }

  // Whether the module holds its faults now. A script that cannot be replaced stays as it is.
  plant() {
    const scripts = [];
    const note = ({ params }) => {
      if (this.cover.isSubject(params.url)) scripts.push(params);
    };
    const { session } = this.cover;
    session.on('Debugger.scriptParsed', note);
    try {
      this.cover.post('Debugger.enable');
      if (scripts.length !== 1) return false;
      return this.replace(scripts[0]);
    } catch {
      return false;
    } finally {
      // It stays on: without it, the engine no longer counts the blocks of what was replaced.
      session.off('Debugger.scriptParsed', note);
    }
  }

  replace({ scriptId, sourceMapURL }) {
    const { scriptSource: text } = this.cover.post('Debugger.getScriptSource', { scriptId });
    this.lineOf = lines(text, sourceMapURL);
    const found = sites(text).slice(0, MOST_SITES);
    if (found.length === 0) return false;
    this.state = runtime(found.length);
    globalThis[NAME] = this.state;
    const put = (some, dryRun) => this.cover.post('Debugger.setScriptSource', { scriptId, scriptSource: planted(text, some).text, dryRun }).status;
    const good = compiling(found, (some) => put(some, true) === 'Ok');
    if (put(good, false) !== 'Ok') return false;
    const { before } = planted(text, good);
    this.text = text;
    this.before = before;
    this.sites = good.map((site) => ({ id: site.id, what: site.what, line: this.lineOf(site.at) }));
    return true;
  }

  // The line of the source that a place of the loaded text comes from.
  lineAt(offset) {
    return this.lineOf ? this.lineOf(this.before ? this.before(offset) : offset) : 0;
  }

  // Faults that calls come by while `work` is done.
  hits(work) {
    this.state.hits.fill(0);
    work();
    return this.taken();
  }

  taken() {
    const found = [];
    for (let id = 0; id < this.state.hits.length; id += 1) if (this.state.hits[id] === 1) found.push(id);
    return found;
  }

  // What is compared while `work` is done.
  compared(work) {
    this.state.seen = [];
    try {
      work();
    } finally {
      this.seen = this.state.seen;
      this.state.seen = null;
    }
    return this.seen;
  }
}

// Those of some places that compile together.
function compiling(found, compiles) {
  if (found.length === 0 || compiles(found)) return found;
  if (found.length === 1) return [];
  const middle = found.length >> 1;
  const [left, right] = [compiling(found.slice(0, middle), compiles), compiling(found.slice(middle), compiles)];
  return compiles([...left, ...right]) ? [...left, ...right] : left;
}

function lines(text, address) {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  let map = null;
  const inline = /^data:application\/json[^,]*;base64,(.*)$/.exec(address || '');
  try {
    if (inline) map = new SourceMap(JSON.parse(Buffer.from(inline[1], 'base64').toString('utf8')));
  } catch {
    map = null;
  }
  return (offset) => {
    let low = 0;
    let high = starts.length;
    while (low + 1 < high) {
      const middle = (low + high) >> 1;
      if (starts[middle] <= offset) low = middle;
      else high = middle;
    }
    const entry = map && map.findEntry(low, offset - starts[low]);
    return entry && Number.isInteger(entry.originalLine) ? entry.originalLine + 1 : low + 1;
  };
}

module.exports = { Faults, compiling, lines };
