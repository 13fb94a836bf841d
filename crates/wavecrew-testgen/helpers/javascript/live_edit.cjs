// Which places of a script can be changed so that the engine still knows its functions: it compares both texts line by line,
// and what is longer than it looks into has to begin and end on lines that stay as they are, with as many lines between.
'use strict';

// What the engine compares word by word, with some room.
const MOST_CHANGED = 640;
// Framework's own lines.
const FOREIGN = /^\s*(?:Object\.defineProperty\()?__vi/;

function lineStarts(text) {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

function lineOf(starts, offset) {
  let low = 0;
  let high = starts.length;
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= offset) low = middle;
    else high = middle;
  }
  return low;
}

// Functions that exist by now: those outside of others, and those in one that holds most of the module.
function existing(bodies, length) {
  const found = [];
  const visit = (list) => {
    let end = -1;
    for (const body of list) {
      if (body[0] < end) continue;
      [, end] = body;
      found.push(body);
      if (body[1] - body[0] > length / 2) visit(list.filter(([from, to]) => from > body[0] && to < body[1]));
    }
  };
  visit(bodies);
  return found;
}

// The sites that may be changed.
function anchored(text, bodies, found, written) {
  const starts = lineStarts(text);
  const line = (offset) => lineOf(starts, offset);
  const lineText = (number) => text.slice(starts[number], number + 1 < starts.length ? starts[number + 1] - 1 : text.length);
  const held = new Set();
  const short = new Set();
  for (const [from, to] of existing(bodies, text.length)) {
    const [first, last] = [line(from), line(to - 1)];
    if (first === last) short.add(first);
    else held.add(first).add(last);
  }
  const touched = (site) => [site.from, site.to, ...(site.middle ? [site.middle.start] : [])].map((offset) => line(offset));
  const free = found.filter((site) => !FOREIGN.test(lineText(line(site.at))) && !touched(site).some((number) => held.has(number)));
  return inTurns(free, { lineText, short, written, touched });
}

// Functions of one line shall not run together with others that change, beyond what the engine looks into: then some wait,
// and are changed when the rest stands still. `waits` marks them.
function inTurns(free, { lineText, short, written, touched }) {
  const byLine = new Map();
  for (const site of free) for (const number of new Set(touched(site))) byLine.set(number, [...(byLine.get(number) || []), site]);
  const waiting = new Set();
  const gone = new Set();
  let run = { last: -2, size: 0, hasShort: false };
  for (const number of [...byLine.keys()].sort((a, b) => a - b)) {
    const some = byLine.get(number);
    const size = lineText(number).length + some.reduce((sum, site) => sum + written(site), 0);
    if (number !== run.last + 1) run = { last: number - 1, size: 0, hasShort: false };
    if (run.size + size > MOST_CHANGED && (run.hasShort || short.has(number))) {
      for (const site of some) (size > MOST_CHANGED && short.has(number) ? gone : waiting).add(site);
      run = { last: -2, size: 0, hasShort: false };
      continue;
    }
    run = { last: number, size: run.size + size, hasShort: run.hasShort || short.has(number) };
  }
  return free.filter((site) => !gone.has(site)).map((site) => ({ ...site, waits: waiting.has(site) }));
}

function isForeign(text, [from]) {
  return FOREIGN.test(text.slice(text.lastIndexOf('\n', from) + 1, from + 1));
}

module.exports = { anchored, existing, isForeign, lineOf, lineStarts };
