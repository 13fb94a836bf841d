// Simpler values: shorter strings, round numbers, fewer items. The simplest come first.
'use strict';

const { literal } = require('./literals.cjs');
const { tokenise } = require('./tokens.cjs');

const ROUND = [0, 1, 2, 3, 5, 10, 100, 1000, 10000, 100000, 1000000, 1000000000];

// Source texts of simpler values.
function* simpler(source, evaluate) {
  if (/=>|subject|Promise/.test(source)) {
    yield* withoutProperties(source);
    yield* simplerConstants(source);
    return;
  }
  let value;
  try {
    [value] = evaluate([source]);
  } catch {
    return;
  }
  const given = new Set([source]);
  for (const other of smaller(value)) {
    const text = literal(other);
    if (text === null || given.has(text)) continue;
    given.add(text);
    yield text;
  }
}

// For an object with functions in it: leaves out one property at a time.
function* withoutProperties(source) {
  const tokens = tokenise(source);
  if (tokens.length < 3 || tokens[0].text !== '{' || tokens[tokens.length - 1].text !== '}') return;
  const properties = [];
  let start = tokens[0].end;
  let depth = 0;
  for (const token of tokens) {
    const closes = /^[)\]}]$/.test(token.text);
    if (closes) depth -= 1;
    if (depth === 0 && token.text === '}' && token !== tokens[tokens.length - 1]) return;
    if ((depth === 1 && token.text === ',') || (depth === 0 && closes)) {
      properties.push(source.slice(start, token.start).trim());
      start = token.end;
    }
    if (/^[([{]$/.test(token.text)) depth += 1;
  }
  for (let at = 0; at < properties.length; at += 1) {
    const rest = properties.filter((_, index) => index !== at);
    yield rest.length > 0 ? `{ ${rest.join(', ')} }` : '{}';
  }
}

// For an expression: simplifies its constants, one at a time.
function* simplerConstants(source) {
  for (const { kind, start, end, text } of tokenise(source)) {
    if (kind !== 'string' && kind !== 'number') continue;
    const value = kind === 'number' ? Number(text) : new Function(`return ${text};`)();
    for (const other of smaller(value)) {
      const plain = literal(other);
      if (plain !== null && plain !== text) yield source.slice(0, start) + plain + source.slice(end);
    }
  }
}

function* smaller(value) {
  if (typeof value === 'string') yield* shorter(value);
  else if (typeof value === 'number') yield* rounder(value);
  else if (Array.isArray(value)) {
    if (value.length > 2) yield [];
    for (let at = 0; at < value.length; at += 1) yield [...value.slice(0, at), ...value.slice(at + 1)];
    for (let at = 0; at < Math.min(value.length, 4); at += 1) for (const item of smaller(value[at])) yield value.map((old, index) => (index === at ? item : old));
  } else if (value && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) {
    for (const key of Object.keys(value)) {
      const { [key]: gone, ...rest } = value;
      yield rest;
    }
    for (const [key, old] of Object.entries(value)) {
      // `true` is the simplest value for an option.
      if (old && typeof old !== 'boolean') yield { ...value, [key]: true };
      for (const item of smaller(old)) yield { ...value, [key]: item };
    }
  }
}

function* shorter(text) {
  if (text === '') return;
  yield '';
  if (text.length > 1) {
    for (const part of text.split(/[\s,;/&]+/)) if (part && part.length < text.length) yield part;
    yield text.slice(0, Math.ceil(text.length / 2));
    yield text.slice(Math.floor(text.length / 2));
    for (let at = 0; at < Math.min(text.length, 12); at += 1) yield text.slice(0, at) + text.slice(at + 1);
  }
  if (/[^\x20-\x7e]/.test(text)) yield text.replace(/[^\x20-\x7e]/g, '');
  // Smaller numbers inside the string.
  const number = text.match(/\d{2,}/);
  if (number) for (const plain of ['1', '2', '10']) if (plain.length < number[0].length) yield text.replace(number[0], plain);
  const lone = text.match(/\d/);
  if (lone && lone[0] > '2') yield text.replace(lone[0], '1');
}

function* rounder(number) {
  if (!Number.isFinite(number)) return;
  const size = Math.abs(number);
  const sign = number < 0 ? -1 : 1;
  for (const plain of ROUND) if (plain < size) yield plain;
  if (sign < 0) for (const plain of ROUND) if (plain > 0 && plain <= size) yield -plain;
  if (!Number.isInteger(number)) {
    yield Math.trunc(number);
    yield sign * 0.5;
    yield Math.round(number * 10) / 10;
    return;
  }
  // The same magnitude, rounded.
  for (const digits of [1, 2]) {
    const round = sign * Number(size.toPrecision(digits));
    if (round !== number) yield round;
  }
}

module.exports = { simpler };
