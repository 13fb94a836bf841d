// The effects of a call that a test can assert: its result or error, and what it changed.
'use strict';

const { inspect } = require('node:util');
const { literal, isPlain } = require('./literals.cjs');
const { Forbidden } = require('./sandbox.cjs');

// How long a promise may take.
const PROMISE_MS = 300;
const MAX_MEMBERS = 12;

// A factory returned something other than an object of its class.
class NotConstructed extends Error {}

function isPromise(value) {
  return Boolean(value) && typeof value === 'object' && typeof value.then === 'function';
}

function isIterator(value) {
  return Boolean(value) && typeof value === 'object' && typeof value.next === 'function' && typeof value[Symbol.iterator] === 'function';
}

// Whether values without source text are observed too, by how they are shown. For comparing two versions.
let showsAll = false;
function showAll() {
  showsAll = true;
}

// How a value is shown, without names of functions: they are no behaviour.
function shown(value) {
  let text;
  try {
    text = inspect(value, { depth: 5, maxArrayLength: 100, maxStringLength: 2000, breakLength: Infinity, compact: true, sorted: false });
  } catch (error) {
    return `cannot be shown: ${error && error.name}`;
  }
  return text.replace(/\[(Function|AsyncFunction|GeneratorFunction|class|Getter|Setter)\b[^\]]*\]/g, '[$1]').replace(/\n\s+at [^\n]*/g, '').slice(0, 4000);
}

// A returned value, or null when a test cannot assert anything about it.
function observe(value) {
  const found = observeWritable(value);
  if (!showsAll || (found !== null && !['fields', 'instance'].includes(found.kind))) return found;
  return { ...(found || { kind: 'shown' }), shown: shown(value) };
}

function observeWritable(value) {
  if (typeof value === 'function') return { kind: 'type', text: 'function' };
  if (isIterator(value)) {
    const items = [];
    for (const item of value) {
      items.push(item);
      if (items.length > 20) return null;
    }
    const text = literal(items);
    return text === null ? null : { kind: 'items', text };
  }
  const text = literal(value);
  if (text !== null) {
    const float = typeof value === 'number' && Number.isFinite(value) && !Number.isInteger(value);
    return { kind: 'value', text, float, object: typeof value === 'object' && value !== null };
  }
  if (value && typeof value === 'object' && isPlain(value)) {
    const text = withFunctions(value);
    return text === null ? null : { kind: 'fields', text };
  }
  if (value && typeof value === 'object' && !Array.isArray(value)) {
    const fields = {};
    for (const key of Object.keys(value)) {
      if (value[key] !== undefined && literal(value[key]) !== null) fields[key] = value[key];
    }
    const text = literal(fields);
    if (text !== null && text !== '{}') return { kind: 'fields', text };
    return { kind: 'instance', text: (value.constructor && value.constructor.name) || 'Object' };
  }
  return null;
}

// The source text of a plain object with functions, or null when something else in it has none.
function withFunctions(value) {
  const keys = Object.keys(value);
  const parts = keys.map((key) => (typeof value[key] === 'function' ? 'expect.any(Function)' : literal(value[key])));
  if (parts.includes(null) || keys.length > MAX_MEMBERS || !keys.some((key) => typeof value[key] === 'function')) return null;
  return `{ ${keys.map((key, index) => `${literal({ [key]: 0 }).slice(2, -5)}: ${parts[index]}`).join(', ')} }`;
}

function observeError(error) {
  if (error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return { kind: 'hangs', grew: error.grew };
  if (error && error.late) return { kind: 'forbidden', text: `waits for longer than ${PROMISE_MS} ms` };
  if (error instanceof NotConstructed) return null;
  if (error instanceof Forbidden) return { kind: 'forbidden', text: error.message };
  if (error instanceof RangeError && /^maximum call stack/i.test(error.message)) return { kind: 'overflows' };
  if (!error || typeof error !== 'object' || typeof error.message !== 'string') {
    const text = literal(error);
    return text === null ? null : { kind: 'throws', name: null, message: text };
  }
  return { kind: 'throws', name: error.name || 'Error', message: error.message };
}

// Arguments that the call changed.
function effects(values, before) {
  const found = [];
  values.forEach((value, index) => {
    const after = before[index] === null ? null : literal(value);
    if (after !== null && after !== before[index]) found.push({ index, text: after });
  });
  return found;
}

// The fields and getters of an object, added to an outcome.
function observeObject(target, made, outcome) {
  for (const name of target.getters) {
    try {
      const value = observe(made[name]);
      if (value && value.kind === 'value') outcome.getters.push({ name, result: value });
    } catch {
      // A failing getter says nothing about the steps.
    }
  }
  const fields = observe(made);
  outcome.result = fields && fields.kind === 'fields' ? fields : { kind: 'instance', text: target.name, ...(fields && fields.shown ? { shown: fields.shown } : {}) };
}

module.exports = { NotConstructed, PROMISE_MS, effects, isPromise, observe, observeError, observeObject, showAll };
