// New calls from what a call compared: a compared value in the input becomes the value on the other side.
'use strict';

const { literal } = require('./literals.cjs');

const MAX_CALLS = 60;
const MAX_LENGTH = 200;
const MAX_TEXT = 150;

function near(value) {
  if (typeof value !== 'number' || !Number.isFinite(value)) return [value];
  return [value, value + 1, value - 1];
}

function isPlain(value) {
  return value === null || ['string', 'number', 'boolean', 'undefined'].includes(typeof value);
}

// Copies of a value with `wanted` in place of `seen`.
function* withReplaced(value, seen, wanted, depth = 0) {
  if (Object.is(value, seen)) yield wanted;
  else if (typeof value === 'string' && typeof seen === 'string' && typeof wanted === 'string') {
    const at = seen === '' ? -1 : value.indexOf(seen);
    const low = seen === '' ? -1 : value.toLowerCase().indexOf(seen.toLowerCase());
    if (at >= 0) yield value.slice(0, at) + wanted + value.slice(at + seen.length);
    else if (low >= 0) yield value.slice(0, low) + wanted + value.slice(low + seen.length);
  } else if (typeof value === 'string' && typeof seen === 'number' && typeof wanted === 'number') {
    if (value !== '' && value.includes(String(seen)) && !Number.isNaN(seen)) yield value.replace(String(seen), String(wanted));
    else if (value.length === seen && wanted >= 0 && wanted <= MAX_TEXT) yield resized(value, wanted);
  } else if (typeof value === 'number' && typeof seen === 'number' && typeof wanted === 'number') {
    yield value + (wanted - seen);
    if (seen !== 0 && value !== 0) yield value * (wanted / seen);
  }
  if (depth > 2 || value === null || typeof value !== 'object') return;
  if (Array.isArray(value)) {
    if (value.length === seen && Number.isInteger(wanted) && wanted >= 0 && wanted <= 20) yield Array.from({ length: wanted }, (_, at) => (value.length > 0 ? value[at % value.length] : at));
    for (let at = 0; at < Math.min(value.length, 6); at += 1) for (const item of withReplaced(value[at], seen, wanted, depth + 1)) yield value.map((old, index) => (index === at ? item : old));
    return;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return;
  for (const key of Object.keys(value).slice(0, 8)) for (const item of withReplaced(value[key], seen, wanted, depth + 1)) yield { ...value, [key]: item };
}

function resized(text, size) {
  return text === '' ? 'a'.repeat(size) : text.repeat(Math.ceil(size / text.length)).slice(0, size);
}

function* sources(source, pairs, evaluate) {
  if (/=>|subject|Promise/.test(source)) return;
  let value;
  try {
    [value] = evaluate([source]);
  } catch {
    return;
  }
  for (const [left, right] of pairs) {
    if (!isPlain(left) || !isPlain(right)) continue;
    for (const [seen, wanted] of [[left, right], [right, left]]) {
      for (const one of near(wanted)) {
        for (const other of withReplaced(value, seen, one)) {
          const text = literal(other);
          if (text !== null && text !== source && text.length <= MAX_LENGTH) yield text;
        }
      }
    }
  }
}

// Variants of a call by the pairs that it compared.
function callsFromComparisons(call, pairs, evaluate) {
  const found = new Map();
  const { target, args, steps, factory } = call;
  const put = (made) => {
    if (found.size < MAX_CALLS) found.set(JSON.stringify([made.args, made.steps]), made);
  };
  args.forEach((source, at) => {
    for (const text of sources(source, pairs, evaluate)) put({ target, args: args.map((old, index) => (index === at ? text : old)), steps, factory });
  });
  steps.forEach((step, number) => step.args.forEach((source, at) => {
    for (const text of sources(source, pairs, evaluate)) {
      put({ target, args, factory, steps: steps.map((one, index) => (index === number ? { ...one, args: one.args.map((old, place) => (place === at ? text : old)) } : one)) });
    }
  }));
  return [...found.values()];
}

module.exports = { callsFromComparisons };
