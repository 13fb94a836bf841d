// Suspected defects: examples that disagree, round trips that fail, internal errors on plain input, calls that do not end.
'use strict';

const { callText } = require('./cases.cjs');
const { literal } = require('./literals.cjs');
const { ENDLESS_MS, isEndless, runWatched } = require('./run.cjs');
const { isOf } = require('./type_hints.cjs');

// Pairs of words for operations that undo each other.
const INVERSE = [
  ['parse', 'format'], ['parse', 'stringify'], ['encode', 'decode'], ['serialize', 'deserialize'], ['serialise', 'deserialise'],
  ['escape', 'unescape'], ['quote', 'unquote'], ['pack', 'unpack'], ['compress', 'decompress'], ['encrypt', 'decrypt'], ['to', 'from'],
  ['flatten', 'unflatten'], ['marshal', 'unmarshal'], ['dump', 'load'], ['wrap', 'unwrap'],
];
// Messages of the engine that nobody throws on purpose.
const INTERNAL_ERROR = /cannot (read|set) properties|is not a function|is not iterable|cannot convert|cannot destructure|cannot access/i;
const MAX_PER_TARGET = 2;
const MAX_SIMPLER = 12;
const MAX_TRIPS = 60;
// Larger numbers may legitimately take long.
const LARGE = 10000;

async function findDefects(search) {
  await confirmHangs(search);
  await examplesThatDisagree(search);
  await roundTrips(search);
  await internalErrors(search);
}

function addDefect(search, defect) {
  const { target } = defect.call;
  const same = search.defects.filter((one) => one.kind === defect.kind && one.call.target === target);
  if (same.length >= MAX_PER_TARGET) return;
  search.defects.push({ target, ...defect });
}

// Removes cases, so that no test records a suspected defect.
function removeCases(search, target, isSuspect) {
  search.cases.set(target.name, search.cases.get(target.name).filter((found) => !isSuspect(found)));
}

// Runs a call that may end the process, so it is recorded first.
function runRecorded(search, call) {
  search.recordCall(call);
  return runWatched(call, search.evaluator);
}

// Simplifies calls that did not end, and confirms them. With large numbers, a call may merely be slow.
async function confirmHangs(search) {
  const found = search.defects;
  search.defects = [];
  for (const { call, grew } of found) {
    const simple = await simplest(search, call, (outcome) => outcome.result.kind === 'hangs');
    search.recordCall(simple);
    if (isLarge(search, simple)) search.drop(call.target.name, `takes longer than ${ENDLESS_MS} ms with large numbers`);
    // A call that keeps allocating gets no more time.
    else if (grew) addDefect(search, { call: simple, kind: 'does not end', what: `no result, and memory keeps growing (${grew} MB so far)` });
    else if (isEndless(simple, search.evaluator)) addDefect(search, { call: simple, kind: 'does not end', what: `no result after ${ENDLESS_MS} ms` });
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

// The simplest call found that still shows the same.
async function simplest(search, call, shows) {
  let best = call;
  let left = MAX_SIMPLER;
  for (let again = true; again;) {
    again = false;
    for (const other of search.generator.simplerCalls(best, (sources) => search.evaluator.of(sources))) {
      if ((left -= 1) < 0) return best;
      const outcome = await runRecorded(search, other);
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
  for (const target of search.targets) {
    for (const { args, stated } of target.statedResults) {
      const call = { target, args, steps: [] };
      if (search.skip.has(search.label(call))) continue;
      const outcome = await runRecorded(search, call);
      if (!outcome || !outcome.result || outcome.result.kind !== 'value') continue;
      const [wanted] = search.evaluator.of([stated]);
      const expected = literal(wanted);
      if (expected === null || expected === outcome.result.text) continue;
      addDefect(search, { call, kind: 'example disagrees', what: `returns ${outcome.result.text}, but its example says ${expected}`, expected, async: outcome.async });
      removeCases(search, target, (found) => found.args.join() === args.join());
    }
  }
}

// `decode(encode(x))` should be `x` for the inputs of the search, if the documentation says so. Each pair is reported once.
async function roundTrips(search) {
  const functions = search.targets.filter((target) => target.kind === 'function' && target.params.filter((param) => !param.optional).length === 1 && !target.promises);
  const reported = [];
  for (const there of functions) {
    for (const back of functions.filter((other) => isInverse(there.name, other.name) && there.promised.some((text) => other.promised.includes(text)))) {
      if (!reported.includes(back) && (await roundTrip(search, there, back))) reported.push(there);
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

// One round trip: null when it proves nothing, otherwise whether the value came back.
async function tryTrip(search, there, back, source) {
  const first = await runRecorded(search, { target: there, args: [source], steps: [] });
  const was = literal(valueOf(search, source));
  if (!first || !first.result || first.result.kind !== 'value' || was === null || was === 'undefined') return null;
  const second = await runRecorded(search, { target: back, args: [first.result.text], steps: [] });
  if (!second || !second.result) return null;
  const came = second.result.kind === 'value' ? second.result.text : null;
  return isRounded(was, first.result.text, came) ? null : { source, was, second, same: came === was };
}

// Whether a number was written with fewer digits, as `1s` for 1001: then it is not meant to come back.
function isRounded(was, written, came) {
  const digits = (text) => text.replace(/\D/g, '').replace(/^0+|0+$/g, '').length;
  return came !== null && was !== came && Number.isFinite(Number(was)) && Number.isFinite(Number(came)) && digits(written) < digits(was);
}

async function roundTrip(search, there, back) {
  const failures = [];
  let successes = 0;
  const known = search.cases.get(there.name).filter((found) => found.args.length === 1 && found.outcome.result.kind === 'value');
  const fresh = Array.from({ length: 60 }, () => search.generator.newCall(there)).filter((call) => call.args.length === 1 && !search.skip.has(search.label(call)));
  const [param] = there.params;
  const fits = (source) => !param.typed || isOf(valueOf(search, source), param.type);
  for (const { args: [source] } of [...known, ...fresh]) {
    const found = fits(source) ? await tryTrip(search, there, back, source) : null;
    if (found === null) continue;
    if (found.same) successes += 1;
    else failures.push(found);
  }
  // If almost no value comes back, the names are a coincidence.
  if (failures.length === 0 || successes < Math.max(3, failures.length)) return false;
  failures.sort((a, b) => a.was.length - b.was.length);
  const { source, was, second } = await simplestTrip(search, there, back, failures[0], fits);
  const check = `${back.expression}(${there.expression}(${source}))`;
  const came = second.result.kind === 'value' ? second.result.text : 'an error';
  addDefect(search, { call: { target: there, args: [source], steps: [] }, kind: 'round trip', what: `comes back as ${came} instead of ${was}`, expected: was, check });
  return true;
}

async function simplestTrip(search, there, back, failure, fits) {
  let best = failure;
  for (let left = MAX_TRIPS, again = true; again && left > 0;) {
    again = false;
    for (const { args: [source] } of search.generator.simplerCalls({ target: there, args: [best.source], steps: [] }, (sources) => search.evaluator.of(sources))) {
      if ((left -= 1) < 0) break;
      const found = source !== undefined && fits(source) ? await tryTrip(search, there, back, source) : null;
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

// The internal error in an outcome, with the call up to it.
function internalErrorIn(call, outcome) {
  if (!outcome || !outcome.result) return null;
  const isInternal = (result) => result.kind === 'throws' && INTERNAL_ERROR.test(result.message);
  if (isInternal(outcome.result)) return { call: { ...call, steps: [] }, error: outcome.result, async: outcome.async };
  const last = outcome.steps && outcome.steps[outcome.steps.length - 1];
  if (!last || !last.result || !isInternal(last.result)) return null;
  return { call: { ...call, steps: call.steps.slice(0, outcome.steps.length) }, error: last.result, async: last.async };
}

// Whether a call only shows that the engine refuses arguments of the wrong type. Code may throw such messages, too.
function isMisuse(search, call, outcome) {
  const found = internalErrorIn(call, outcome);
  if (found === null || hasDeclaredTypes(search, found.call)) return false;
  const [message] = found.error.message.match(INTERNAL_ERROR);
  return !(search.plan.texts[0] || '').includes(message);
}

// Remembers the shortest call with an internal error on input of the declared types, by target and step.
function noteInternalError(search, call, outcome) {
  const found = internalErrorIn(call, outcome);
  if (found === null) return;
  const { target, steps } = found.call;
  target.internalErrors = target.internalErrors || new Map();
  const place = steps.length > 0 ? steps[steps.length - 1].name : '';
  const known = target.internalErrors.get(place);
  const length = callText(found.call).length;
  if ((known && known.length <= length) || !hasDeclaredTypes(search, found.call)) return;
  target.internalErrors.set(place, { ...found, length });
}

async function internalErrors(search) {
  for (const target of search.targets) {
    for (const [place, { call }] of target.internalErrors || []) {
      const here = (found) => found !== null && (found.call.steps.length > 0 ? found.call.steps[found.call.steps.length - 1].name : '') === place;
      const same = (outcome, other) => here(internalErrorIn(other, outcome)) && hasDeclaredTypes(search, internalErrorIn(other, outcome).call);
      const plain = await simplest(search, call, same);
      const found = internalErrorIn(plain, await runRecorded(search, plain));
      if (found !== null) addDefect(search, { call: found.call, kind: 'internal error', what: `${found.error.name}: ${found.error.message}`, async: found.async });
    }
    removeCases(search, target, (known) => {
      const found = internalErrorIn(known, known.outcome);
      return found !== null && hasDeclaredTypes(search, found.call);
    });
  }
}

// Guessed types do not count, because the guess may be wrong.
function hasDeclaredTypes(search, { target, args, steps }) {
  const fits = (given, params) => given.length >= params.filter((param) => !param.optional && !param.rest).length
    && given.every((source, at) => params[at] && params[at].sure && isOf(valueOf(search, source), params[at].type));
  // Without any argument, nothing was declared.
  const given = args.length + steps.reduce((sum, step) => sum + step.args.length, 0);
  if (given === 0 && target.params.length > 0) return false;
  return fits(args, target.params) && steps.every((step) => {
    const kind = target.steps.find((one) => one.name === step.name && one.how === step.how);
    return Boolean(kind) && fits(step.args, kind.params);
  });
}

module.exports = { hasDeclaredTypes, isMisuse, noteInternalError, findDefects };
