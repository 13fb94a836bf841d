// What a call reached, by the engine's own counters: no coverage tool has to be installed.
'use strict';

const { Session } = require('node:inspector');

class Cover {
  // `file` is the path of the source under test; transformed code keeps it as its address.
  constructor(file) {
    this.file = file.replace(/\\/g, '/');
    this.session = new Session();
    this.session.connect();
    this.post('Profiler.enable');
    this.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    // Blocks that no call entered, by function; a function that was never called is not in it.
    this.missed = new Map();
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

  // What ran since the last look: a text that is the same for the same path, and whether it reached something new.
  look() {
    const { result } = this.post('Profiler.takePreciseCoverage');
    const path = [];
    let news = false;
    for (const script of result) {
      const url = decodeURIComponent(script.url.replace(/^file:\/\//, '').replace(/\?.*$/, ''));
      if (url !== this.file && !url.endsWith(this.file)) continue;
      for (const { functionName, ranges } of script.functions) {
        if (ranges[0].count === 0) continue;
        const id = `${functionName}@${ranges[0].startOffset}`;
        const empty = ranges.filter((range) => range.count === 0).map((range) => range.startOffset);
        path.push(`${id}:${empty.join('.')}`);
        const before = this.missed.get(id);
        const left = before === undefined ? empty : before.filter((offset) => empty.includes(offset));
        if (before === undefined || left.length < before.length) news = true;
        this.missed.set(id, left);
      }
    }
    return { path: path.sort().join('|'), news };
  }

  stop() {
    this.post('Profiler.stopPreciseCoverage');
    this.session.disconnect();
  }
}

module.exports = { Cover };
