// What looks like a defect rather than like behaviour to keep: examples that disagree, pairs that do not come back, plain
// input that ends in an error of the engine. Calls that do not end are seen by the search itself.
'use strict';

const { literal } = require('./literal.cjs');
const { endless, once } = require('./run.cjs');

// Pairs of words that promise to undo each other.
const INVERSE = [
  ['parse', 'format'], ['parse', 'stringify'], ['encode', 'decode'], ['serialize', 'deserialize'], ['escape', 'unescape'],
  ['quote', 'unquote'], ['pack', 'unpack'], ['compress', 'decompress'], ['encrypt', 'decrypt'], ['to', 'from'], ['flatten', 'unflatten'],
];
// The engine says that the code lost its way.
const LOST = /cannot (read|set) properties|is not a function|is not iterable|cannot convert|cannot destructure|cannot access/i;
const MOST_PER_TARGET = 2;

async function suspects(search) {
  search.defects = search.defects.filter(({ call }) => endless(call, search.evaluator));
  await examplesThatDisagree(search);
  await roundTrips(search);
  plainCrashes(search);
}

function add(search, defect) {
  const { target } = defect.call;
  const same = search.defects.filter((one) => one.kind === defect.kind && one.call.target === target);
  if (same.length >= MOST_PER_TARGET) return;
  search.defects.push({ target, ...defect });
}

// No test records what is suspected.
function forget(search, target, is) {
  search.cases.set(target.name, search.cases.get(target.name).filter((found) => !is(found)));
}

async function examplesThatDisagree(search) {
  for (const target of search.found) {
    for (const { args, claim } of target.claims) {
      const call = { target, args, steps: [] };
      const outcome = await once(call, search.evaluator);
      if (!outcome || !outcome.result || outcome.result.kind !== 'value') continue;
      const [wanted] = search.evaluator.of([claim]);
      const expected = literal(wanted);
      if (expected === null || expected === outcome.result.text) continue;
      add(search, { call, kind: 'example disagrees', what: `it gives ${outcome.result.text}, its example says ${expected}`, expected });
      forget(search, target, (found) => found.args.join() === args.join());
    }
  }
}

// `decode(encode(x))` is `x`, for the inputs that the search found.
async function roundTrips(search) {
  const functions = search.found.filter((target) => target.kind === 'function' && target.params.filter((param) => !param.optional).length === 1 && !target.promises);
  for (const there of functions) {
    for (const back of functions.filter((other) => isInverse(there.name, other.name))) await roundTrip(search, there, back);
  }
}

function isInverse(one, other) {
  if (one === other) return false;
  const swap = (name, from, to) => name.replace(new RegExp(`(^|[a-z_.])${from}(?=[A-Z_]|$)`, 'i'), (match, before) => before + (match.slice(before.length)[0] === match.slice(before.length)[0].toUpperCase() ? to[0].toUpperCase() + to.slice(1) : to));
  return INVERSE.some(([a, b]) => (swap(one, a, b) === other && one !== swap(one, a, b)) || (swap(one, b, a) === other && one !== swap(one, b, a)));
}

async function roundTrip(search, there, back) {
  const failures = [];
  let successes = 0;
  const known = search.cases.get(there.name).filter((found) => found.args.length === 1 && found.outcome.result.kind === 'value');
  const fresh = Array.from({ length: 60 }, () => search.made.fresh(there)).filter((call) => call.args.length === 1);
  for (const call of [...known, ...fresh]) {
    const first = await once(call, search.evaluator);
    const was = literal(valueOf(search, call.args[0]));
    if (!first || !first.result || first.result.kind !== 'value' || was === null || was === 'undefined') continue;
    const second = await once({ target: back, args: [first.result.text], steps: [] }, search.evaluator);
    if (!second || !second.result) continue;
    if (second.result.kind === 'value' && second.result.text === was) successes += 1;
    else failures.push({ call, second, was });
  }
  // Where hardly anything comes back, the names were a coincidence.
  if (failures.length === 0 || successes < Math.max(3, failures.length)) return;
  failures.sort((a, b) => a.was.length - b.was.length);
  const { call, second, was } = failures[0];
  const line = `${back.expression}(${there.expression}(${call.args[0]}))`;
  const came = second.result.kind === 'value' ? second.result.text : 'an error';
  add(search, { call: { target: there, args: call.args, steps: [] }, kind: 'round trip', what: `it comes back as ${came}, not as ${was}`, expected: was, line });
}

function valueOf(search, source) {
  try {
    return search.evaluator.of([source])[0];
  } catch {
    return undefined;
  }
}

// Input of the declared types alone counts: what was only guessed may be wrong.
function plainCrashes(search) {
  for (const target of search.found.filter((found) => found.kind === 'function')) {
    const lost = search.cases.get(target.name)
      .filter(({ args, outcome }) => outcome.result.kind === 'throws' && LOST.test(outcome.result.message) && args.every((arg, at) => fits(search, arg, target.params[at])) && args.length >= target.params.filter((param) => !param.optional && !param.rest).length);
    lost.sort((a, b) => a.args.join().length - b.args.join().length);
    for (const found of lost) {
      add(search, { call: { target, args: found.args, steps: [] }, kind: 'internal error', what: `${found.outcome.result.name}: ${found.outcome.result.message}` });
    }
    forget(search, target, (found) => lost.includes(found));
  }
}

function fits(search, source, param) {
  return Boolean(param) && param.typed && isOf(valueOf(search, source), param.type);
}

function isOf(value, type) {
  switch (type.kind) {
    case 'number': case 'integer': return Number.isFinite(value);
    case 'string': case 'boolean': return typeof value === type.kind;
    case 'array': return Array.isArray(value) && value.every((item) => isOf(item, type.of));
    case 'union': return type.options.some((option) => isOf(value, option));
    case 'literal': return literal(value) === type.text.replace(/^"|"$/g, "'");
    case 'date': return value instanceof Date;
    case 'record': return Boolean(value) && typeof value === 'object' && Object.values(value).every((item) => isOf(item, type.of));
    case 'fields': return Boolean(value) && typeof value === 'object' && type.fields.every(({ name, optional, type: inner }) => (value[name] === undefined ? optional : isOf(value[name], inner)));
    default: return false;
  }
}

module.exports = { suspects };
