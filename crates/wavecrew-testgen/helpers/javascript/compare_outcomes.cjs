// Whether two versions did the same, and how to say what each did.
'use strict';

const { shortened } = require('./render.cjs');
const { ENDLESS_MS } = require('./run.cjs');

// Messages of the engine name variables and depend on how code is written.
const ENGINE_MESSAGE = /cannot (read|set|convert|destructure|access|delete|assign|add|define|redefine|create)|is not (a function|iterable|defined|an object|a constructor)|undefined|unexpected|invalid (array length|time value|date|string length)|circular structure|reduce of empty/i;

// A slow-down: this many times as many steps for the same result, and at least some.
const SLOWER = 25;
const LEAST_STEPS = 20000;
// A hang counts only if the same call of the other version takes at most this much processor time.
const EARLY_MS = ENDLESS_MS / 8;

function plainResult(result) {
  if (!result) return null;
  if (result.kind === 'throws' && ENGINE_MESSAGE.test(result.message) && ['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError'].includes(result.name)) return { kind: 'throws', name: result.name };
  const { grew, ...rest } = result;
  return rest;
}

// The outcome as far as it is behaviour.
function plain(outcome) {
  return { ...outcome, result: plainResult(outcome.result), steps: (outcome.steps || []).map((step) => ({ ...step, result: plainResult(step.result) })) };
}

function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

const lastResult = (outcome) => {
  const { steps, result } = outcome;
  const last = steps[steps.length - 1];
  return last && last.result && last.result.kind === 'throws' ? last.result : result;
};

// How two answers differ, or null.
function kindOfAnswers(before, after) {
  const kind = kindOfDifference(before.outcome, after.outcome);
  if (kind !== null) return kind;
  const { result } = after.outcome;
  const isSlow = result && result.kind !== 'throws' && after.steps > Math.max(LEAST_STEPS, SLOWER * before.steps);
  return isSlow && same(plain(before.outcome), plain(after.outcome)) ? 'slow' : null;
}

// Whether a found difference shows again in the answers of two new processes.
function repeats(found, { before, after } = {}) {
  if (!before || !after) return false;
  // A call that takes long in both versions may end just in time in one of them.
  const shortest = Math.min(...[before, after].map(({ cpu = Infinity }) => cpu));
  if (found.kind === 'hang' && shortest > EARLY_MS) return false;
  if (kindOfAnswers(before, after) !== found.kind) return false;
  return same(plain(before.outcome), plain(found.before.outcome)) && same(plain(after.outcome), plain(found.after.outcome));
}

// How two outcomes differ, or null.
function kindOfDifference(before, after) {
  const [one, other] = [plain(before), plain(after)];
  if (same(one, other)) return null;
  const kinds = [one, other].map((outcome) => (outcome.result ? outcome.result.kind : 'nothing'));
  if (kinds.includes('forbidden') || kinds.includes('nothing')) return null;
  if (kinds.includes('hangs')) return kinds[0] === kinds[1] ? null : 'hang';
  if (kinds.includes('crash')) return kinds[0] === kinds[1] ? null : 'crash';
  if (kinds.includes('overflows') && kinds[0] === kinds[1]) return null;
  if (!same(one.added, other.added)) return 'state';
  const [first, second] = [lastResult(one), lastResult(other)];
  if (first.kind === 'throws' || second.kind === 'throws' || kinds.includes('overflows')) return 'exception';
  if (!same(one.files, other.files)) return 'files';
  const returned = (outcome) => outcome.steps.map((step) => step.result);
  const isObject = one.steps.length > 0 || one.getters.length > 0 || first.kind === 'fields' || first.kind === 'instance';
  if (!same(returned(one), returned(other))) return 'value';
  if (!same(first, second) || !same(one.getters, other.getters)) return isObject && one.steps.length > 0 ? 'state' : 'value';
  if (!same(one.effects, other.effects)) return 'arguments';
  if (one.output !== other.output) return 'output';
  return 'value';
}

function resultText(result) {
  if (!result) return 'nothing';
  switch (result.kind) {
    case 'throws': return result.name === null ? `throws ${result.message}` : `throws ${result.name}${result.message ? `: ${result.message}` : ''}`;
    case 'overflows': return 'throws RangeError: Maximum call stack size exceeded';
    case 'hangs': return 'does not end';
    case 'crash': return 'ends the process';
    case 'type': return 'a function';
    case 'items': return `an iterator over ${result.text}`;
    case 'self': return 'the object itself';
    case 'fields':
    case 'instance':
    case 'shown': return result.shown || result.text;
    default: return result.text;
  }
}

// What a version did, with the part that differs.
function outcomeText(outcome, other, kind) {
  if (kind === 'output') return outcome.output === undefined ? 'prints nothing' : `prints ${JSON.stringify(outcome.output)}`;
  if (kind === 'files') return outcome.files === undefined ? 'writes no files' : `writes ${JSON.stringify(outcome.files)}`;
  if (kind === 'arguments') return outcome.effects.length === 0 ? 'leaves its arguments alone' : `changes ${outcome.effects.map(({ index, text }) => `argument ${index + 1} to ${text}`).join(', ')}`;
  if (!same(outcome.added, other.added)) return outcome.added === undefined ? 'leaves the prototypes of builtins alone' : `adds ${outcome.added.join(', ')}`;
  const asyncText = outcome.async && !other.async ? 'a promise of ' : '';
  const at = outcome.steps.findIndex((step, index) => !same(step.result, other.steps[index] && other.steps[index].result));
  if (at >= 0) return resultText(outcome.steps[at].result);
  const getter = outcome.getters.find((one, index) => !same(one, other.getters[index]));
  if (getter && same(outcome.result, other.result)) return `${getter.name}: ${resultText(getter.result)}`;
  return asyncText + resultText(outcome.result);
}

// What tells causes apart before the lines are known.
function shapeOf({ before, after }) {
  const shape = (outcome) => {
    const result = lastResult(outcome);
    return result.kind === 'throws' ? `throws ${result.name}` : result.kind;
  };
  return `${shape(before.outcome)} → ${shape(after.outcome)}`;
}

module.exports = { kindOfAnswers, kindOfDifference, lastResult, outcomeText, plain, repeats, resultText, same, shapeOf, shortened };
