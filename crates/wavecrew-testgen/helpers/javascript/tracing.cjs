// What a call reached, by the engine's own counters: no coverage tool has to be installed.
'use strict';

const { Session } = require('node:inspector');

function decoded(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

// Where two lists of ranges overlap. What is inside of a block that nobody entered is not told apart before somebody does.
function shared(one, other) {
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

class Cover {
  // `file` is the path of the source under test; transformed code keeps it as its address.
  constructor(file) {
    this.file = file.replace(/\\/g, '/');
    this.session = new Session();
    this.session.connect();
    this.post('Profiler.enable');
    this.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    // Ranges that no call entered, by function; a function that was never called is not in it.
    this.missed = new Map();
    // The same for the tests that are there.
    this.base = new Map();
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

  // What ran since the last look: a text that is the same for the same path, and what each function did not enter.
  look() {
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

  // Whether it reached what nothing before did.
  isNew({ functions }, missed = this.missed) {
    return functions.some(([id, empty]) => {
      const before = missed.get(id);
      return before === undefined || length(shared(before, empty)) < length(before);
    });
  }

  // Whether a function that was called has parts that nothing entered.
  isOpen() {
    return [...this.missed.values()].some((ranges) => ranges.length > 0);
  }

  learn({ functions }, missed = this.missed) {
    for (const [id, empty] of functions) {
      const before = missed.get(id);
      missed.set(id, before === undefined ? empty : shared(before, empty));
    }
  }

  settle() {
    this.base = new Map(this.missed);
  }

  start() {
    return new Map(this.base);
  }

  // Functions with parts that nothing entered. Of which lines these are is not known here.
  open() {
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

module.exports = { Cover };
