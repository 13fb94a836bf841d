// Which parts of the module a call reached. `EngineTracer` reads the engine's own counters, so no coverage tool is needed.
// `SiteTracer` reads the sites of an instrumented module, which is much faster. Both have the same methods.
'use strict';

const { Session } = require('node:inspector');

function decoded(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

// The overlap of two lists of ranges. Blocks inside one that was never entered are not reported separately.
function overlap(one, other) {
  const found = [];
  for (const [from, to] of one) {
    for (const [start, end] of other) {
      if (Math.max(from, start) < Math.min(to, end)) found.push([Math.max(from, start), Math.min(to, end)]);
    }
  }
  return found;
}

function length(ranges) {
  return ranges.reduce((sum, [from, to]) => sum + to - from, 0);
}

class EngineTracer {
  // `file` is the path of the source under test. Transformed code keeps it as its URL.
  constructor(file) {
    this.file = file.replace(/\\/g, '/');
    this.session = new Session();
    this.session.connect();
    this.post('Profiler.enable');
    this.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    // Ranges that no call entered, by function. Functions that were never called are absent.
    this.missed = new Map();
    // The same for existing tests.
    this.existing = new Map();
    this.addresses = new Map();
  }

  post(method, params) {
    let answer;
    this.session.post(method, params || {}, (error, result) => {
      if (error) throw new Error(error.message);
      answer = result;
    });
    return answer;
  }

  // Forgets what ran so far.
  clear() {
    this.post('Profiler.takePreciseCoverage');
  }

  // What ran since the last call: a text that identifies the path, and the ranges that each function did not enter.
  takeReached() {
    const { result } = this.post('Profiler.takePreciseCoverage');
    const path = [];
    const functions = [];
    for (const script of result) {
      if (!this.isSubject(script.url)) continue;
      for (const { functionName, ranges } of script.functions) {
        if (ranges[0].count === 0) continue;
        const id = `${functionName}@${ranges[0].startOffset}`;
        const empty = ranges.filter((range) => range.count === 0).map((range) => [range.startOffset, range.endOffset]);
        path.push(`${id}:${empty.map(([from]) => from).join('.')}`);
        functions.push([id, empty]);
      }
    }
    return { path: path.sort().join('|'), functions };
  }

  // Whether a call reached something new.
  isNew({ functions }, missed = this.missed) {
    return functions.some(([id, empty]) => {
      const before = missed.get(id);
      return before === undefined || length(overlap(before, empty)) < length(before);
    });
  }

  // Whether a called function has parts that nothing entered.
  isOpen() {
    return [...this.missed.values()].some((ranges) => ranges.length > 0);
  }

  add({ functions }, missed = this.missed) {
    for (const [id, empty] of functions) {
      const before = missed.get(id);
      missed.set(id, before === undefined ? empty : overlap(before, empty));
    }
  }

  setBaseline() {
    this.existing = new Map(this.missed);
  }

  baseline() {
    return new Map(this.existing);
  }

  // Functions with parts that nothing entered. Their lines are not known here.
  openParts() {
    return new Set([...this.missed].filter(([, ranges]) => ranges.length > 0).map(([id]) => id));
  }

  isNear({ functions }, open) {
    return functions.some(([id, empty]) => open.has(id) && empty.length > 0);
  }

  isSubject(address) {
    let known = this.addresses.get(address);
    if (known === undefined) {
      const path = address.replace(/^file:\/\//, '').replace(/\?.*$/, '');
      known = [path, decoded(path)].some((one) => one === this.file || one.endsWith(this.file));
      this.addresses.set(address, known);
    }
    return known;
  }

  pause() {
    this.post('Profiler.stopPreciseCoverage');
  }

  stop() {
    this.pause();
    this.session.disconnect();
  }
}

class SiteTracer {
  constructor(mutants) {
    this.mutants = mutants;
    this.reached = new Set();
    this.existing = new Set();
  }

  clear() {
    this.mutants.clear();
  }

  // For a function without sites, its name shows that it was called.
  takeReached(name) {
    const branches = this.mutants.reachedBranches();
    if (branches.length === 0 && name) branches.push(name);
    this.mutants.clear();
    return { path: branches.join('.'), branches };
  }

  isNew({ branches }, reached = this.reached) {
    return branches.some((branch) => !reached.has(branch));
  }

  add({ branches }, reached = this.reached) {
    for (const branch of branches) reached.add(branch);
  }

  // Call this after existing tests ran.
  setBaseline() {
    this.existing = new Set(this.reached);
  }

  // What existing tests reach.
  baseline() {
    return new Set(this.existing);
  }

  // Sites that nothing reached, or only one side of.
  openSites() {
    const { reached } = this;
    return this.mutants.allSites.filter(({ id, branches }) => !reached.has(2 * id) || (branches === 2 && !reached.has(2 * id + 1)));
  }

  isOpen() {
    return this.openSites().length > 0;
  }

  // Open sites on the given lines, with their functions.
  openParts(isWanted) {
    const found = { bodies: new Set(), offsets: [] };
    for (const site of this.openSites()) {
      if (!isWanted(site.line)) continue;
      found.bodies.add(site.body);
      found.offsets.push(site.at);
    }
    this.bodyOf = this.bodyOf || new Map(this.mutants.allSites.map((site) => [site.id, site.body]));
    return found;
  }

  // Whether a call enters a function with an open site.
  isNear({ branches }, { bodies }) {
    return branches.some((branch) => typeof branch === 'number' && bodies.has(this.bodyOf.get(branch >> 1)));
  }
}

module.exports = { EngineTracer, SiteTracer };
