// Which sites of a script can change so that the engine recognises its functions. It compares old and new text line by line,
// and a long change must begin and end on unchanged lines with the same number of lines between.
'use strict';

// The length that the engine compares token by token, with a margin.
const MAX_CHANGED = 640;
// Lines that the framework adds.
const FRAMEWORK_LINE = /^\s*(?:Object\.defineProperty\()?__vi/;

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

// Functions that exist once the module is loaded: top-level ones, and those inside a function that wraps the module.
function liveFunctions(bodies, length) {
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

// The sites that can change.
function editableSites(text, bodies, found, written) {
  const starts = lineStarts(text);
  const line = (offset) => lineOf(starts, offset);
  const lineText = (number) => text.slice(starts[number], number + 1 < starts.length ? starts[number + 1] - 1 : text.length);
  const held = new Set();
  const short = new Set();
  for (const [from, to] of liveFunctions(bodies, text.length)) {
    const [first, last] = [line(from), line(to - 1)];
    if (first === last) short.add(first);
    else held.add(first).add(last);
  }
  const touched = (site) => [site.from, site.to, ...(site.middle ? [site.middle.start] : [])].map((offset) => line(offset));
  const free = found.filter((site) => !FRAMEWORK_LINE.test(lineText(line(site.at))) && !touched(site).some((number) => held.has(number)));
  return markDeferred(free, { lineText, short, written, touched });
}

// One-line functions must not form a long run of changes with their neighbours. Where they would, some sites are `deferred`
// and changed in a second step.
function markDeferred(free, { lineText, short, written, touched }) {
  const byLine = new Map();
  for (const site of free) for (const number of new Set(touched(site))) byLine.set(number, [...(byLine.get(number) || []), site]);
  const deferred = new Set();
  const dropped = new Set();
  let run = { last: -2, size: 0, hasShort: false };
  for (const number of [...byLine.keys()].sort((a, b) => a - b)) {
    const some = byLine.get(number);
    const size = lineText(number).length + some.reduce((sum, site) => sum + written(site), 0);
    if (number !== run.last + 1) run = { last: number - 1, size: 0, hasShort: false };
    if (run.size + size > MAX_CHANGED && (run.hasShort || short.has(number))) {
      for (const site of some) (size > MAX_CHANGED && short.has(number) ? dropped : deferred).add(site);
      run = { last: -2, size: 0, hasShort: false };
      continue;
    }
    run = { last: number, size: run.size + size, hasShort: run.hasShort || short.has(number) };
  }
  return free.filter((site) => !dropped.has(site)).map((site) => ({ ...site, deferred: deferred.has(site) }));
}

function isFrameworkCode(text, [from]) {
  return FRAMEWORK_LINE.test(text.slice(text.lastIndexOf('\n', from) + 1, from + 1));
}

module.exports = { editableSites, liveFunctions, isFrameworkCode, lineOf, lineStarts };
