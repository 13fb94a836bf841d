// The goals of a search: parts of the module that nothing has entered, or in a later round those that feedback names. Finds
// the calls that come near them, and the constants around them.
'use strict';

const { tokenise } = require('./tokens.cjs');

const BEFORE = 160;
const AFTER = 60;
const MAX_OFFSETS = 60;

class Uncovered {
  // `feedback` has line ranges without coverage, and lines with surviving mutants.
  constructor(feedback, mutants) {
    this.mutants = mutants;
    const lines = new Set((feedback && feedback.survivors) || []);
    for (const [first, last] of (feedback && feedback.uncovered) || []) for (let line = first; line <= last && lines.size < 100000; line += 1) lines.add(line);
    this.lines = lines.size > 0 ? lines : null;
    this.nearbyCases = new Map();
  }

  isWanted(line) {
    return this.lines === null || this.lines.has(line);
  }

  // Finds the calls near uncovered parts. Returns the constants around those.
  update(tracer, cases) {
    this.nearbyCases = new Map();
    const open = tracer.openParts((line) => this.isWanted(line));
    for (const [name, found] of cases) {
      const close = found.filter(({ reached }) => tracer.isNear(reached, open));
      if (close.length > 0) this.nearbyCases.set(name, close);
    }
    return this.constants(open.offsets || []);
  }

  // Whether calls of a target come near uncovered parts; true for all targets when none does.
  isNear(target) {
    return this.nearbyCases.size === 0 || this.nearbyCases.has(target.name);
  }

  // Constants in the code around some offsets.
  constants(offsets) {
    const found = { numbers: new Set(), strings: new Set(), regexes: new Set() };
    const { text } = this.mutants;
    for (const offset of offsets.slice(0, MAX_OFFSETS)) {
      for (const token of tokenise(text.slice(Math.max(0, offset - BEFORE), offset + AFTER))) {
        if (token.kind === 'number') found.numbers.add(Number(token.text));
        else if (token.kind === 'string') found.strings.add(token.text.slice(1, -1));
        else if (token.kind === 'regex') found.regexes.add(token.text.slice(1, token.text.lastIndexOf('/')));
      }
    }
    return { numbers: [...found.numbers].filter(Number.isFinite), strings: [...found.strings].filter((text) => text !== '' && text.length <= 40), regexes: [...found.regexes] };
  }
}

module.exports = { Uncovered };
