// Mutants of a loaded module. Its text is replaced once by an instrumented one that contains all mutants, each inactive until
// selected. The same text records which sites a call reaches and what it compares.
'use strict';

const { SourceMap } = require('node:module');
const { lineOf, lineStarts } = require('./live_edit.cjs');
const { NAME, instrumented, findSites } = require('./mutation_sites.cjs');
const { WRAPPED } = require('./tokens.cjs');

const MAX_SITES = 4000;
const MAX_COMPARISONS = 300;
// Shorter functions may contain no site.
const MIN_LENGTH = 60;
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

// What the instrumented text calls. Names are short because the text contains many of them.
function runtime(count) {
  const state = {
    active: -1,
    // Two entries per site: reached, and for conditions which way.
    hits: new Uint8Array(2 * count),
    comparisons: null,
    // Sites that ran since somebody set this to 0.
    steps: 0,
    // The left operand of the last && or ||.
    t: undefined,
    a(id) {
      state.steps += 1;
      state.hits[2 * id] = 1;
      return state.active === id;
    },
    // A condition.
    w(id, isTrue) {
      state.steps += 1;
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
      if (state.comparisons !== null && COMPARED.has(sign) && state.comparisons.length < MAX_COMPARISONS) state.comparisons.push([left, right]);
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

class Mutants {
  // `shared` is the runtime of several modules, and the first id of this one.
  constructor(tracer, shared = null) {
    this.tracer = tracer;
    this.shared = shared;
    this.sites = [];
    this.allSites = [];
    this.state = runtime(0);
  }

  // Replaces the module's text by the instrumented one. Returns whether the engine accepted it.
  install() {
    const scripts = [];
    const note = ({ params }) => {
      if (this.tracer.isSubject(params.url)) scripts.push(params);
    };
    const { session } = this.tracer;
    session.on('Debugger.scriptParsed', note);
    try {
      this.tracer.post('Debugger.enable');
      // Circular imports may load a module twice: by the framework and by the engine.
      const texts = scripts.map(({ scriptId }) => this.tracer.post('Debugger.getScriptSource', { scriptId }).scriptSource);
      const wrapped = texts.findIndex((text) => WRAPPED.test(text));
      const at = wrapped >= 0 ? wrapped : scripts.length - 1;
      this.scripts = new Set(scripts.map(({ scriptId }) => scriptId));
      return at >= 0 && this.replace(scripts[at], texts[at]);
    } catch {
      return false;
    } finally {
      // The debugger stays enabled: otherwise the engine stops counting the blocks of replaced code.
      session.off('Debugger.scriptParsed', note);
    }
  }

  replace({ scriptId, sourceMapURL }, text) {
    this.lineOf = lineFinder(text, sourceMapURL);
    const { found: all, whole } = findSites(text);
    const first = this.shared ? this.shared.first : 0;
    const found = all.slice(0, MAX_SITES).map((site) => ({ ...site, id: first + site.id }));
    this.whole = whole && found.length === all.length;
    if (found.length === 0) return false;
    this.state = this.shared ? this.shared.state : runtime(found[found.length - 1].id + 1);
    globalThis[NAME] = this.state;
    const put = (some, dryRun) => this.tracer.post('Debugger.setScriptSource', { scriptId, scriptSource: instrumented(text, some), dryRun }).status;
    const good = compilingSites(found, (some) => put(some, true) === 'Ok');
    const direct = good.filter((site) => !site.deferred);
    if (put(direct, false) !== 'Ok' || (direct.length < good.length && put(good, false) !== 'Ok')) return false;
    this.whole = this.whole && good.length === found.length;
    this.text = text;
    this.allSites = good.map((site) => ({ id: site.id, at: site.at, body: site.body, line: this.lineOf(site.at), branches: /^(?:condition|&&|\|\||\?\?|! )/.test(site.what || '') ? 2 : 1 }));
    this.sites = good.filter((site) => site.what !== null).map((site) => ({ id: site.id, what: site.what, line: this.lineOf(site.at) }));
    return true;
  }

  // Whether all targets run the instrumented text. Functions that the engine did not recognise keep the old one.
  coverAll(targets) {
    if (!this.whole) return false;
    const functions = targets.flatMap(({ value, kind }) => (kind === 'class' ? methods(value) : [value]));
    return functions.every((one) => {
      const text = Function.prototype.toString.call(one);
      return text.includes(`${NAME}.`) || !this.text.includes(text) || text.length < MIN_LENGTH;
    });
  }

  // Whether some of the old text ran.
  hasUninstrumentedCalls() {
    const { result } = this.tracer.post('Profiler.takePreciseCoverage');
    return result.some(({ scriptId, url, functions }) => this.tracer.isSubject(url) && !this.scripts.has(scriptId)
      && functions.some(({ functionName, ranges }) => functionName !== '' && ranges[0].count > 0));
  }

  clear() {
    this.state.hits.fill(0);
  }

  // The branches that were reached since `clear`: twice the id of the site, plus one for the true side of a condition.
  reachedBranches() {
    const found = [];
    const { hits } = this.state;
    for (let branch = 0; branch < hits.length; branch += 1) if (hits[branch] === 1) found.push(branch);
    return found;
  }

  reachedSites() {
    return [...new Set(this.reachedBranches().map((branch) => branch >> 1))];
  }

  // The pairs that are compared while `work` runs.
  comparisonsDuring(work) {
    let found;
    this.state.comparisons = [];
    try {
      work();
    } finally {
      found = this.state.comparisons;
      this.state.comparisons = null;
    }
    return found;
  }
}

function methods({ prototype }) {
  const found = Object.values(Object.getOwnPropertyDescriptors(prototype || {})).flatMap(({ value, get, set }) => [value, get, set]);
  // The text of a constructor is that of the whole class.
  return found.filter((one) => typeof one === 'function' && one !== prototype.constructor);
}

// The largest part of the sites that compiles, found by bisection.
function compilingSites(found, compiles) {
  if (found.length === 0 || compiles(found)) return found;
  if (found.length === 1) return [];
  const middle = found.length >> 1;
  const [left, right] = [compilingSites(found.slice(0, middle), compiles), compilingSites(found.slice(middle), compiles)];
  return compiles([...left, ...right]) ? [...left, ...right] : left;
}

// Returns a function from offsets to lines of the original source.
function lineFinder(text, address) {
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

module.exports = { MAX_SITES, Mutants, compilingSites, lineFinder, runtime };
