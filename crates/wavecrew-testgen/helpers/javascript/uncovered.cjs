// What a search is after: parts of the module that nothing entered yet, in a later round those that the round left open.
// Tells which targets come near them, by which calls, and which constants stand there.
'use strict';

const { tokenise } = require('./tokens.cjs');

const BEFORE = 160;
const AFTER = 60;
const MOST = 60;

class Focus {
  // `open` is what a round left: line ranges without coverage, and lines with faults that nobody noticed.
  constructor(open, faults) {
    this.faults = faults;
    const lines = new Set((open && open.survivors) || []);
    for (const [first, last] of (open && open.uncovered) || []) for (let line = first; line <= last && lines.size < 100000; line += 1) lines.add(line);
    this.lines = lines.size > 0 ? lines : null;
    this.near = new Map();
  }

  isWanted(line) {
    return this.lines === null || this.lines.has(line);
  }

  // Looks again at what is open, and who comes near it.
  look(cover, cases) {
    this.near = new Map();
    const open = cover.open((line) => this.isWanted(line));
    for (const [name, found] of cases) {
      const close = found.filter(({ reached }) => cover.isNear(reached, open));
      if (close.length > 0) this.near.set(name, close);
    }
    return this.constants(open.places || []);
  }

  // Whether calls of a target lead on; where none does, all may.
  isNear(target) {
    return this.near.size === 0 || this.near.has(target.name);
  }

  // Constants of the code around some places.
  constants(places) {
    const found = { numbers: new Set(), strings: new Set(), regexes: new Set() };
    const { text } = this.faults;
    for (const place of places.slice(0, MOST)) {
      for (const token of tokenise(text.slice(Math.max(0, place - BEFORE), place + AFTER))) {
        if (token.kind === 'number') found.numbers.add(Number(token.text));
        else if (token.kind === 'string') found.strings.add(token.text.slice(1, -1));
        else if (token.kind === 'regex') found.regexes.add(token.text.slice(1, token.text.lastIndexOf('/')));
      }
    }
    return { numbers: [...found.numbers].filter(Number.isFinite), strings: [...found.strings].filter((text) => text !== '' && text.length <= 40), regexes: [...found.regexes] };
  }
}

module.exports = { Focus };
