// What looks like a defect rather than like behaviour to keep: examples that disagree, pairs that do not come back, plain
// input that ends in an error of the engine, calls that do not end.
'use strict';

const { shown } = require('./cases.cjs');
const { literal } = require('./literals.cjs');
const { endless, once, ENDLESS_MS } = require('./run.cjs');
const { isOf } = require('./type_hints.cjs');

// Pairs of words that promise to undo each other.
const INVERSE = [
  ['parse', 'format'], ['parse', 'stringify'], ['encode', 'decode'], ['serialize', 'deserialize'], ['serialise', 'deserialise'],
  ['escape', 'unescape'], ['quote', 'unquote'], ['pack', 'unpack'], ['compress', 'decompress'], ['encrypt', 'decrypt'], ['to', 'from'],
  ['flatten', 'unflatten'], ['marshal', 'unmarshal'], ['dump', 'load'], ['wrap', 'unwrap'],
];
// The engine says that the code lost its way.
const LOST = /cannot (read|set) properties|is not a function|is not iterable|cannot convert|cannot destructure|cannot access/i;
const MOST_PER_TARGET = 2;
const MOST_PLAINER = 12;
const MOST_TRIPS = 60;
// Input beyond this may just take long.
const LARGE = 10000;

async function suspects(search) {
  await endings(search);
  await examplesThatDisagree(search);
  await roundTrips(search);
  await plainCrashes(search);
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

// A call whose ending nobody knows, so that its traces are left first.
function tried(search, call) {
  search.trail(call);
  return once(call, search.evaluator);
}

// Calls that did not end, in their plainest form. One that needs large numbers for that may be merely slow.
async function endings(search) {
  const found = search.defects;
  search.defects = [];
  for (const { call, grew } of found) {
    const plain = await plainest(search, call, (outcome) => outcome.result.kind === 'hangs');
    search.trail(plain);
    if (isLarge(search, plain)) search.leave(call.target.name, `takes longer than ${ENDLESS_MS} ms with large numbers`);
    // What takes memory as it goes is not given more time for that.
    else if (grew) add(search, { call: plain, kind: 'does not end', what: `no answer while it takes more and more memory, ${grew} MB so far` });
    else if (endless(plain, search.evaluator)) add(search, { call: plain, kind: 'does not end', what: `no answer after ${ENDLESS_MS} ms` });
  }
}

function isLarge(search, { args, steps }) {
  const sources = [args, ...steps.map((step) => step.args)].flat();
  return sources.some((source) => /\d{5}|\de\+?\d/.test(source) && numbersIn(valueOf(search, source)).some((number) => Math.abs(number) > LARGE));
}

function numbersIn(value) {
  if (typeof value === 'number') return [value];
  if (value && typeof value === 'object') return Object.values(value).flatMap(numbersIn);
  return [];
}

// The plainest call found that still shows the same.
async function plainest(search, call, shows) {
  let best = call;
  let left = MOST_PLAINER;
  for (let again = true; again;) {
    again = false;
    for (const other of search.made.plainer(best, (sources) => search.evaluator.of(sources))) {
      if ((left -= 1) < 0) return best;
      const outcome = await tried(search, other);
      if (outcome && outcome.result && shows(outcome, other)) {
        best = other;
        again = true;
        break;
      }
    }
  }
  return best;
}

async function examplesThatDisagree(search) {
  for (const target of search.found) {
    for (const { args, claim } of target.claims) {
      const call = { target, args, steps: [] };
      if (search.skip.has(search.label(call))) continue;
      const outcome = await tried(search, call);
      if (!outcome || !outcome.result || outcome.result.kind !== 'value') continue;
      const [wanted] = search.evaluator.of([claim]);
      const expected = literal(wanted);
      if (expected === null || expected === outcome.result.text) continue;
      add(search, { call, kind: 'example disagrees', what: `it gives ${outcome.result.text}, its example says ${expected}`, expected, async: outcome.async });
      forget(search, target, (found) => found.args.join() === args.join());
    }
  }
}

// `decode(encode(x))` is `x`, for the inputs that the search found. One way is enough to tell of a pair.
async function roundTrips(search) {
  const functions = search.found.filter((target) => target.kind === 'function' && target.params.filter((param) => !param.optional).length === 1 && !target.promises);
  const told = [];
  for (const there of functions) {
    for (const back of functions.filter((other) => isInverse(there.name, other.name))) {
      if (!told.includes(back) && (await roundTrip(search, there, back))) told.push(there);
    }
  }
}

function isInverse(one, other) {
  if (one === other) return false;
  // `hexToRgb` and `rgbToHex`.
  const across = one.match(/^(.*\.)?([a-z][\w$]*?)(To|2)([A-Z][\w$]*)$/);
  if (across) {
    const [, owner = '', from, word, to] = across;
    if (other === owner + to[0].toLowerCase() + to.slice(1) + word + from[0].toUpperCase() + from.slice(1)) return true;
  }
  const swap = (name, from, to) => name.replace(new RegExp(`(^|[a-z_.])${from}(?=[A-Z_]|$)`, 'i'), (match, before) => before + (match.slice(before.length)[0] === match.slice(before.length)[0].toUpperCase() ? to[0].toUpperCase() + to.slice(1) : to));
  return INVERSE.some(([a, b]) => (swap(one, a, b) === other && one !== swap(one, a, b)) || (swap(one, b, a) === other && one !== swap(one, b, a)));
}

// There and back again: nothing where that says nothing, else whether it came back.
async function trip(search, there, back, source) {
  const first = await tried(search, { target: there, args: [source], steps: [] });
  const was = literal(valueOf(search, source));
  if (!first || !first.result || first.result.kind !== 'value' || was === null || was === 'undefined') return null;
  const second = await tried(search, { target: back, args: [first.result.text], steps: [] });
  if (!second || !second.result) return null;
  const came = second.result.kind === 'value' ? second.result.text : null;
  return isRounded(was, first.result.text, came) ? null : { source, was, second, same: came === was };
}

// A number that was told with fewer digits than it has, as `1s` for 1001: it is not meant to come back.
function isRounded(was, told, came) {
  const digits = (text) => text.replace(/\D/g, '').replace(/^0+|0+$/g, '').length;
  return came !== null && was !== came && Number.isFinite(Number(was)) && Number.isFinite(Number(came)) && digits(told) < digits(was);
}

async function roundTrip(search, there, back) {
  const failures = [];
  let successes = 0;
  const known = search.cases.get(there.name).filter((found) => found.args.length === 1 && found.outcome.result.kind === 'value');
  const fresh = Array.from({ length: 60 }, () => search.made.fresh(there)).filter((call) => call.args.length === 1 && !search.skip.has(search.label(call)));
  const [param] = there.params;
  const fits = (source) => !param.typed || isOf(valueOf(search, source), param.type);
  for (const { args: [source] } of [...known, ...fresh]) {
    const found = fits(source) ? await trip(search, there, back, source) : null;
    if (found === null) continue;
    if (found.same) successes += 1;
    else failures.push(found);
  }
  // Where hardly anything comes back, the names were a coincidence.
  if (failures.length === 0 || successes < Math.max(3, failures.length)) return false;
  failures.sort((a, b) => a.was.length - b.was.length);
  const { source, was, second } = await plainestTrip(search, there, back, failures[0], fits);
  const check = `${back.expression}(${there.expression}(${source}))`;
  const came = second.result.kind === 'value' ? second.result.text : 'an error';
  add(search, { call: { target: there, args: [source], steps: [] }, kind: 'round trip', what: `it comes back as ${came}, not as ${was}`, expected: was, check });
  return true;
}

async function plainestTrip(search, there, back, failure, fits) {
  let best = failure;
  for (let left = MOST_TRIPS, again = true; again && left > 0;) {
    again = false;
    for (const { args: [source] } of search.made.plainer({ target: there, args: [best.source], steps: [] }, (sources) => search.evaluator.of(sources))) {
      if ((left -= 1) < 0) break;
      const found = source !== undefined && fits(source) ? await trip(search, there, back, source) : null;
      if (found !== null && !found.same) {
        best = found;
        again = true;
        break;
      }
    }
  }
  return best;
}

function valueOf(search, source) {
  try {
    return search.evaluator.of([source])[0];
  } catch {
    return undefined;
  }
}

// Where a call got lost: as far as it came, with the error.
function lostIn(call, outcome) {
  if (!outcome || !outcome.result) return null;
  const lost = (result) => result.kind === 'throws' && LOST.test(result.message);
  if (lost(outcome.result)) return { call: { ...call, steps: [] }, error: outcome.result, async: outcome.async };
  const last = outcome.steps && outcome.steps[outcome.steps.length - 1];
  if (!last || !last.result || !lost(last.result)) return null;
  return { call: { ...call, steps: call.steps.slice(0, outcome.steps.length) }, error: last.result, async: last.async };
}

// Remembers calls with input of the declared kinds that end in an error of the engine: the shortest per target and step.
function noteLost(search, call, outcome) {
  const found = lostIn(call, outcome);
  if (found === null) return;
  const { target, steps } = found.call;
  target.lost = target.lost || new Map();
  const place = steps.length > 0 ? steps[steps.length - 1].name : '';
  const known = target.lost.get(place);
  const length = shown(found.call).length;
  if ((known && known.length <= length) || !isDeclared(search, found.call)) return;
  target.lost.set(place, { ...found, length });
}

async function plainCrashes(search) {
  for (const target of search.found) {
    for (const [place, { call }] of target.lost || []) {
      const here = (found) => found !== null && (found.call.steps.length > 0 ? found.call.steps[found.call.steps.length - 1].name : '') === place;
      const same = (outcome, other) => here(lostIn(other, outcome)) && isDeclared(search, lostIn(other, outcome).call);
      const plain = await plainest(search, call, same);
      const found = lostIn(plain, await tried(search, plain));
      if (found !== null) add(search, { call: found.call, kind: 'internal error', what: `${found.error.name}: ${found.error.message}`, async: found.async });
    }
    forget(search, target, (known) => {
      const found = lostIn(known, known.outcome);
      return found !== null && isDeclared(search, found.call);
    });
  }
}

// Input of the declared types alone counts: what was only guessed may be wrong.
function isDeclared(search, { target, args, steps }) {
  const fits = (given, params) => given.length >= params.filter((param) => !param.optional && !param.rest).length
    && given.every((source, at) => params[at] && params[at].sure && isOf(valueOf(search, source), params[at].type));
  return fits(args, target.params) && steps.every((step) => {
    const kind = target.steps.find((one) => one.name === step.name && one.how === step.how);
    return Boolean(kind) && fits(step.args, kind.params);
  });
}

module.exports = { isDeclared, noteLost, suspects };
