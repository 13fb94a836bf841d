// Plants faults in the module as it is loaded: its text is replaced once by one that holds all of them, each asleep until it
// is wanted. The same text tells which places a call came by, and what it compared.
'use strict';

const { SourceMap } = require('node:module');
const { lineOf, lineStarts } = require('./live_edit.cjs');
const { NAME, planted, sites } = require('./mutation_sites.cjs');
const { WRAPPED } = require('./tokens.cjs');

const MOST_SITES = 4000;
const MOST_SEEN = 300;
// Functions with less text may have no place for a fault.
const SHORT = 60;
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
    // Whether a place was come by, and of a condition, which way: two for each.
    hits: new Uint8Array(2 * count),
    seen: null,
    // The left side of the last && or ||.
    t: undefined,
    a(id) {
      state.hits[2 * id] = 1;
      return state.active === id;
    },
    // One way or the other.
    w(id, isTrue) {
      state.hits[2 * id + (isTrue ? 1 : 0)] = 1;
      return state.active === id ? !isTrue : isTrue;
    },
    i: (value) => value,
    v: (id, value, other) => (state.a(id) ? other : value),
    q(id, value) {
      const way = state.w(id, Boolean(value));
      return state.active === id ? way : value;
    },
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
      return state.w(id, Boolean(value));
    },
    d(id, value) {
      state.t = value;
      return state.w(id, !value);
    },
    e(id, value) {
      state.t = value;
      const missing = state.w(id, value === null || value === undefined);
      return state.active === id ? Boolean(value) : missing;
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
      // Modules that need each other may be loaded twice: by the framework, and by the engine itself.
      const texts = scripts.map(({ scriptId }) => this.cover.post('Debugger.getScriptSource', { scriptId }).scriptSource);
      const wrapped = texts.findIndex((text) => WRAPPED.test(text));
      const at = wrapped >= 0 ? wrapped : scripts.length - 1;
      this.scripts = new Set(scripts.map(({ scriptId }) => scriptId));
      return at >= 0 && this.replace(scripts[at], texts[at]);
    } catch {
      return false;
    } finally {
      // It stays on: without it, the engine no longer counts the blocks of what was replaced.
      session.off('Debugger.scriptParsed', note);
    }
  }

  replace({ scriptId, sourceMapURL }, text) {
    this.lineOf = lines(text, sourceMapURL);
    const { found: all, whole } = sites(text);
    const found = all.slice(0, MOST_SITES);
    this.whole = whole && found.length === all.length;
    if (found.length === 0) return false;
    this.state = runtime(found[found.length - 1].id + 1);
    globalThis[NAME] = this.state;
    const put = (some, dryRun) => this.cover.post('Debugger.setScriptSource', { scriptId, scriptSource: planted(text, some), dryRun }).status;
    const good = compiling(found, (some) => put(some, true) === 'Ok');
    const first = good.filter((site) => !site.waits);
    if (put(first, false) !== 'Ok' || (first.length < good.length && put(good, false) !== 'Ok')) return false;
    this.whole = this.whole && good.length === found.length;
    this.text = text;
    this.places = good.map((site) => ({ id: site.id, at: site.at, body: site.body, line: this.lineOf(site.at), ways: /^(?:the condition|&&|\|\||\?\?|the !)/.test(site.what || '') ? 2 : 1 }));
    this.sites = good.filter((site) => site.what !== null).map((site) => ({ id: site.id, what: site.what, line: this.lineOf(site.at) }));
    return true;
  }

  // Whether the engine took the new text for all that can be called. What it did not know again goes on as before.
  isIn(targets) {
    if (!this.whole) return false;
    const functions = targets.flatMap(({ value, kind }) => (kind === 'class' ? methods(value) : [value]));
    return functions.every((one) => {
      const text = Function.prototype.toString.call(one);
      return text.includes(`${NAME}.`) || !this.text.includes(text) || text.length < SHORT;
    });
  }

  // Whether something of the old text ran after all.
  hasStrays() {
    const { result } = this.cover.post('Profiler.takePreciseCoverage');
    return result.some(({ scriptId, url, functions }) => this.cover.isSubject(url) && !this.scripts.has(scriptId)
      && functions.some(({ functionName, ranges }) => functionName !== '' && ranges[0].count > 0));
  }

  clear() {
    this.state.hits.fill(0);
  }

  // What was come by since: places, with the way that was taken.
  ways() {
    const found = [];
    const { hits } = this.state;
    for (let way = 0; way < hits.length; way += 1) if (hits[way] === 1) found.push(way);
    return found;
  }

  // The same as faults.
  taken() {
    return [...new Set(this.ways().map((way) => way >> 1))];
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

function methods({ prototype }) {
  const found = Object.values(Object.getOwnPropertyDescriptors(prototype || {})).flatMap(({ value, get, set }) => [value, get, set]);
  // Of a constructor, the text is that of the whole class.
  return found.filter((one) => typeof one === 'function' && one !== prototype.constructor);
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
  const starts = lineStarts(text);
  let map = null;
  const inline = /^data:application\/json[^,]*;base64,(.*)$/.exec(address || '');
  try {
    if (inline) map = new SourceMap(JSON.parse(Buffer.from(inline[1], 'base64').toString('utf8')));
  } catch {
    map = null;
  }
  return (offset) => {
    const line = lineOf(starts, offset);
    const entry = map && map.findEntry(line, offset - starts[line]);
    return entry && Number.isInteger(entry.originalLine) ? entry.originalLine + 1 : line + 1;
  };
}

module.exports = { Faults, compiling, lines, runtime };
