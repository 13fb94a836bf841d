// Which parts of the changed files a call reaches. In a search, instrumented sites tell that for each call, and what it
// compares. To confirm, the engine's own counters tell it by line, and the code stays as it is.
'use strict';

const { MAX_SITES, Mutants, lineFinder, runtime } = require('./mutants.cjs');
const { tokenise } = require('./tokens.cjs');
const { EngineTracer } = require('./tracing.cjs');

// Lines with nothing but these have no code.
const CLOSING = new Set(['}', ')', ']', ';', '{', ',', 'else', '(']);

class ChangedCode {
  // `plan.changed` has the changed files of this version, each with its path and changed lines.
  constructor(plan) {
    this.plan = plan;
    // One session for all files: the engine's counters start again whenever somebody reads them.
    this.tracer = new EngineTracer('');
    this.parts = plan.changed.map(({ path, lines }) => ({ path, lines, isSubject: addressTest(path) }));
    this.state = null;
    this.instrumented = [];
    this.aimed = new Set();
    this.seen = new Set();
    this.atLoad = {};
  }

  // Call this when the module is loaded.
  loaded() {
    const scripts = [];
    this.tracer.session.on('Debugger.scriptParsed', ({ params }) => scripts.push(params));
    this.tracer.post('Debugger.enable');
    this.tracer.session.removeAllListeners('Debugger.scriptParsed');
    if (this.plan.confirm) {
      for (const part of this.parts) this.readScripts(part, scripts.filter(({ url }) => part.isSubject(url)));
      this.atLoad = this.takeLines();
      return;
    }
    this.state = runtime(MAX_SITES * this.parts.length);
    this.parts.forEach((part, at) => {
      // The scripts are known already.
      const session = { on: (_, note) => scripts.forEach((params) => note({ params })), off: () => {} };
      const post = (method, params) => (method === 'Debugger.enable' ? {} : this.tracer.post(method, params));
      const mutants = new Mutants({ session, post, isSubject: part.isSubject }, { state: this.state, first: at * MAX_SITES });
      if (mutants.install()) this.instrumented.push({ ...part, mutants });
    });
    this.tracer.pause();
    for (const { mutants, lines } of this.instrumented) for (const site of mutants.allSites) if (isIn(lines, site.line)) this.aimed.add(site.id);
  }

  // Sites on changed lines, and the functions around them.
  sites() {
    return this.instrumented.flatMap(({ mutants, path, lines }) => {
      const bodies = new Set(mutants.allSites.filter((site) => isIn(lines, site.line)).map((site) => site.body));
      return mutants.allSites.filter((site) => bodies.has(site.body)).map(({ id, line }) => ({ id, line, path, changed: isIn(lines, line) }));
    });
  }

  clear() {
    if (this.state) {
      this.state.hits.fill(0);
      this.state.steps = 0;
    }
    if (this.plan.confirm) this.tracer.clear();
  }

  // What was reached since `clear`: branches that are new to this process, those on changed lines, and a sum that identifies
  // the path.
  take() {
    if (this.plan.confirm) {
      const lines = this.takeLines();
      return { lines, steps: this.steps };
    }
    if (!this.state) return { fresh: [], aimed: [], path: 0, steps: 0 };
    const { hits, steps } = this.state;
    const fresh = [];
    const aimed = [];
    let path = 0;
    for (let branch = hits.indexOf(1); branch >= 0; branch = hits.indexOf(1, branch + 1)) {
      path = (path * 31 + branch + 1) | 0;
      if (this.aimed.has(branch >> 1)) aimed.push(branch);
      if (!this.seen.has(branch)) {
        this.seen.add(branch);
        fresh.push(branch);
      }
    }
    return { fresh, aimed, path, steps };
  }

  comparisonsDuring(work) {
    if (!this.state) {
      work();
      return [];
    }
    this.state.comparisons = [];
    try {
      work();
    } finally {
      this.found = this.state.comparisons;
      this.state.comparisons = null;
    }
    return this.found;
  }

  // The texts of a changed file as they were loaded, and for each line with code the offset of its first token.
  readScripts(part, scripts) {
    part.scripts = new Map(scripts.map(({ scriptId, sourceMapURL }) => {
      const { scriptSource } = this.tracer.post('Debugger.getScriptSource', { scriptId });
      return [scriptId, lineOffsets(scriptSource, sourceMapURL)];
    }));
  }

  // The changed lines with code, by file.
  executable() {
    const found = {};
    for (const { path, lines, scripts } of this.parts) {
      const numbers = [...(scripts ? scripts.values() : [])].flatMap((offsets) => offsets.map(([, line]) => line).filter((line) => isIn(lines, line)));
      if (numbers.length > 0) found[path] = [...new Set(numbers)].sort((a, b) => a - b);
    }
    return found;
  }

  // The changed lines that ran since the last call, by file. `steps` is how many blocks of the changed files ran.
  takeLines() {
    const found = {};
    this.steps = 0;
    const { result } = this.tracer.post('Profiler.takePreciseCoverage');
    for (const { path, lines, scripts } of this.parts) {
      const reached = new Set();
      for (const { scriptId, functions } of result) {
        if (!scripts || !scripts.has(scriptId)) continue;
        const ranges = functions.flatMap((one) => one.ranges);
        for (const { count } of ranges) this.steps += count;
        for (const [offset, line] of scripts.get(scriptId)) if (!reached.has(line) && isIn(lines, line) && countAt(ranges, offset) > 0) reached.add(line);
      }
      if (reached.size > 0) found[path] = [...reached].sort((a, b) => a - b);
    }
    return found;
  }
}

// Whether an address of a script is that of a file.
function addressTest(file) {
  return (address) => {
    const path = address.replace(/^file:\/\//, '').replace(/\?.*$/, '');
    if (path === file) return true;
    try {
      return decodeURIComponent(path) === file;
    } catch {
      return false;
    }
  };
}

function isIn(ranges, line) {
  return ranges.some(([first, last]) => line >= first && line <= last);
}

// How often the smallest range around an offset ran.
function countAt(ranges, offset) {
  let best = null;
  for (const range of ranges) {
    if (range.startOffset <= offset && offset < range.endOffset && (best === null || range.endOffset - range.startOffset <= best.endOffset - best.startOffset)) best = range;
  }
  return best === null ? 0 : best.count;
}

// Pairs of an offset and its line in the original source: where lines begin, and where functions begin in lines.
function lineOffsets(text, sourceMapURL) {
  const lineOf = lineFinder(text, sourceMapURL);
  const found = [];
  const known = new Set();
  let before = '';
  for (const { start, text: word } of tokenise(text)) {
    const beginsFunction = word === 'function' || before === '=>' || before === '{';
    before = word;
    if (CLOSING.has(word)) continue;
    const line = lineOf(start);
    if (known.has(line) && !beginsFunction) continue;
    known.add(line);
    found.push([start, line]);
  }
  return found;
}

module.exports = { ChangedCode, isIn };
