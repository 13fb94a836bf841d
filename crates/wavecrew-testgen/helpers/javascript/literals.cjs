// Values as source text, as a person would write them.
'use strict';

const MAX_ITEMS = 30;
const MAX_TEXT = 400;
const MAX_DEPTH = 5;

const plainKey = /^[A-Za-z_$][\w$]*$/;

class NoLiteral extends Error {}

// A text in a kind of quotes.
function quotedWith(mark, text) {
  const body = JSON.stringify(text).slice(1, -1).replace(/\\"/g, '"').replaceAll(mark, `\\${mark}`);
  return mark + body.replace(/\u2028/g, '\\u2028').replace(/\u2029/g, '\\u2029') + mark;
}

// Single quotes, unless double ones need no escapes.
function quote(text) {
  return quotedWith(text.includes("'") && !text.includes('"') ? '"' : "'", text);
}

// The quotes that leave a title most readable.
function quotedTitle(text) {
  const hasBoth = text.includes("'") && text.includes('"') && !text.includes('`') && !text.includes('${');
  return hasBoth ? quotedWith('`', text) : quote(text);
}

function number(value) {
  if (Number.isNaN(value)) return 'NaN';
  if (Object.is(value, -0)) return '-0';
  if (value === Infinity) return 'Infinity';
  if (value === -Infinity) return '-Infinity';
  return String(value);
}

function isPlain(value) {
  const proto = Object.getPrototypeOf(value);
  return proto === null || Object.getPrototypeOf(proto) === null;
}

function write(value, depth, seen) {
  if (depth > MAX_DEPTH) throw new NoLiteral('too deep');
  switch (typeof value) {
    case 'undefined':
      return 'undefined';
    case 'boolean':
      return String(value);
    case 'number':
      return number(value);
    case 'bigint':
      return `${value}n`;
    case 'string':
      if (value.length > MAX_TEXT) throw new NoLiteral('too long');
      return quote(value);
    case 'object':
      break;
    default:
      throw new NoLiteral(`a ${typeof value}`);
  }
  if (value === null) return 'null';
  if (seen.includes(value)) throw new NoLiteral('a cycle');
  const inner = [...seen, value];
  const each = (items) => {
    if (items.length > MAX_ITEMS) throw new NoLiteral('too many items');
    return items.map((item) => write(item, depth + 1, inner)).join(', ');
  };
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  if (Array.isArray(value)) {
    if (Object.keys(value).length !== value.length) throw new NoLiteral('a sparse array');
    return `[${each(value)}]`;
  }
  if (tag === 'Date') {
    return Number.isNaN(value.getTime()) ? 'new Date(NaN)' : `new Date(${quote(value.toISOString())})`;
  }
  if (tag === 'RegExp') return String(value);
  if (tag === 'Map') return `new Map([${each([...value.entries()])}])`;
  if (tag === 'Set') return `new Set([${each([...value.values()])}])`;
  if (Buffer.isBuffer(value)) return `Buffer.from([${each([...value])}])`;
  if (ArrayBuffer.isView(value) && tag.endsWith('Array')) return `new ${tag}([${each([...value])}])`;
  if (!isPlain(value)) throw new NoLiteral(`an instance of ${value.constructor && value.constructor.name}`);
  const keys = Object.keys(value);
  if (keys.length > MAX_ITEMS) throw new NoLiteral('too many keys');
  if (Object.getOwnPropertySymbols(value).length > 0) throw new NoLiteral('symbols as keys');
  const fields = keys.map((key) => {
    const name = plainKey.test(key) ? key : quote(key);
    return `${name}: ${write(value[key], depth + 1, inner)}`;
  });
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

// The source text of a value, or null when it has none.
function literal(value) {
  try {
    return write(value, 0, []);
  } catch (error) {
    if (error instanceof NoLiteral) return null;
    throw error;
  }
}

module.exports = { literal, quote, quotedTitle, isPlain };
