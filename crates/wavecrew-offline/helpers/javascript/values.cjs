// Makes inputs as source text: from types, names, the constants of the code, and what worked before.
'use strict';

const { quote } = require('./literal.cjs');

const NUMBERS = [0, 1, -1, 2, 3, 10, 0.5, 7, 100, -5, 1000, 12.75, 255, 1e6];
const STRINGS = ['', 'a', 'hello', 'Hello World', 'foo bar', 'abc123', '42', ' padded ', 'a-b_c.d', 'ÄÖ é', 'x,y,z',
  '3.14', 'true', 'null', 'a/b/c', 'user@example.com', '2020-02-29', '#ff0000', 'one\ntwo', '日本', 'UPPER', 'camelCaseName',
  'key=value&b=2', '{"a": 1}', '[1, 2]', '<b>x</b>', "it's", '10px', '1,234.5'];

const HINTS = [
  [/^(is|has|should|can|use|with|no|enable|disable|allow)[A-Z_]|^(flag|strict|deep|loose|force|verbose)$/, { kind: 'boolean' }],
  [/^(fn|func|cb|callback|iteratee|predicate|mapper|reducer|compare(Fn)?|comparator|handler|transform|by|resolver|visitor)$/i, { kind: 'function' }],
  [/^(arr|array|list|items|values|elements|xs|rows|args|parts|words|numbers|nums|collection|entries|tokens|stack|queue|data)$/i, { kind: 'array', of: { kind: 'any' } }],
  [/^(obj|object|opts|options|config|settings|props|record|target|source|params|query|headers|attrs|map|dict)$/i, { kind: 'object' }],
  [/^(date|day|when|from|to|start|end)(Date)?$/i, { kind: 'union', options: [{ kind: 'date' }, { kind: 'number' }, { kind: 'string' }] }],
  [/(str|string|text|name|word|key|path|url|uri|prefix|suffix|char|line|html|css|json|input|pattern|format|sep|separator|delimiter|title|label|email|id|slug|color|locale|unit)s?$/i, { kind: 'string' }],
  [/^(n|m|i|j|k|x|y|z|a|b|c|num|number|count|size|len|length|index|idx|min|max|limit|width|height|depth|step|total|amount|price|rate|ms|seconds|minutes|hours|days|year|month|degree|radius|precision|digits|base|seed|offset|lower|upper|lo|hi|value)s?$/i, { kind: 'number' }],
  [/^(re|regex|regexp)$/i, { kind: 'regexp' }],
];

// What the body does with a parameter says what it is.
function byUse(name, body) {
  const p = name.replace(/\$/g, '\\$');
  const uses = (pattern) => new RegExp(`(?<![\\w.$])${p}${pattern}`).test(body);
  const found = [];
  if (uses('\\s*\\.(?:trim|toLowerCase|toUpperCase|charAt|charCodeAt|codePointAt|split|replace|replaceAll|startsWith|endsWith|padStart|padEnd|match|matchAll|substring|substr|normalize|repeat|localeCompare)\\b')) found.push({ kind: 'string' });
  if (new RegExp(`typeof\\s+${p}\\s*[!=]==?\\s*['"]string`).test(body)) found.push({ kind: 'string' });
  if (new RegExp(`typeof\\s+${p}\\s*[!=]==?\\s*['"]number`).test(body)) found.push({ kind: 'number' });
  if (new RegExp(`typeof\\s+${p}\\s*[!=]==?\\s*['"]function`).test(body)) found.push({ kind: 'function' });
  if (new RegExp(`typeof\\s+${p}\\s*[!=]==?\\s*['"]boolean`).test(body)) found.push({ kind: 'boolean' });
  if (new RegExp(`Array\\.isArray\\(\\s*${p}\\b`).test(body)) found.push({ kind: 'array', of: { kind: 'any' } });
  if (new RegExp(`${p}\\s+instanceof\\s+Date|(?<![\\w.$])${p}\\s*\\.get(?:Time|FullYear|Month|Date|Hours)`).test(body)) found.push({ kind: 'date' });
  if (new RegExp(`${p}\\s+instanceof\\s+RegExp`).test(body)) found.push({ kind: 'regexp' });
  if (new RegExp(`${p}\\s+instanceof\\s+Map|(?<![\\w.$])${p}\\s*\\.(?:has|set)\\(`).test(body)) found.push({ kind: 'map', key: { kind: 'string' }, of: { kind: 'any' } });
  if (uses('\\s*\\.(?:map|filter|reduce|forEach|push|pop|some|every|sort|reverse|flat|flatMap|findIndex|find|splice|shift|unshift)\\b') || new RegExp(`\\bof\\s+${p}\\b`).test(body)) found.push({ kind: 'array', of: { kind: 'any' } });
  if (new RegExp(`Object\\.(?:keys|entries|values|assign)\\(\\s*${p}\\b|\\bin\\s+${p}\\b`).test(body)) found.push({ kind: 'object' });
  if (uses('\\s*\\(')) found.push({ kind: 'function' });
  if (uses('\\s*(?:[-*/%<>]|\\*\\*|[<>]=)\\s*[\\w(.]') || new RegExp(`[-*/%<>]\\s*${p}(?![\\w.$(])|Math\\.\\w+\\(\\s*${p}\\b|Number\\.is\\w+\\(\\s*${p}\\b`).test(body)) found.push({ kind: 'number' });
  return found;
}

// Fields that the code reads of a parameter.
function fieldsRead(name, body) {
  const p = name.replace(/\$/g, '\\$');
  const names = new Set();
  for (const match of body.matchAll(new RegExp(`(?<![\\w.$])${p}\\??\\.([A-Za-z_$][\\w$]*)(?!\\s*\\()`, 'g'))) names.add(match[1]);
  for (const match of body.matchAll(new RegExp(`\\{([^{}]*)\\}\\s*=\\s*${p}\\b`, 'g'))) {
    for (const part of match[1].split(',')) {
      const field = part.trim().match(/^[A-Za-z_$][\w$]*/);
      if (field) names.add(field[0]);
    }
  }
  names.delete('length');
  return [...names].slice(0, 8);
}

function guess(param, body) {
  const options = byUse(param.name, body);
  const fields = fieldsRead(param.name, body);
  if (fields.length > 0 && !options.some((type) => ['string', 'array', 'date', 'map'].includes(type.kind))) {
    return { kind: 'fields', fields: fields.map((name) => ({ name, optional: true, type: guess({ name }, body) })) };
  }
  const hint = HINTS.find(([pattern]) => pattern.test(param.name));
  if (options.length === 0 && hint) options.push(hint[1]);
  if (options.length === 0) return { kind: 'any' };
  return options.length === 1 ? options[0] : { kind: 'union', options };
}

// Strings that a regular expression of the code lets through, by a walk over its text.
function matching(source, random) {
  let at = 0;
  const sets = { d: '0123456789', w: 'abcXYZ09_', s: ' ', D: 'ab-', W: '-. ', S: 'aZ9' };
  function quantity(make) {
    const mark = source[at];
    let [least, most] = [1, 1];
    if (mark === '*') { [least, most] = [0, 3]; at += 1; }
    else if (mark === '+') { [least, most] = [1, 3]; at += 1; }
    else if (mark === '?') { [least, most] = [0, 1]; at += 1; }
    else if (mark === '{') {
      const bounds = source.slice(at).match(/^\{(\d+)(,(\d*))?\}/);
      if (bounds) {
        least = Number(bounds[1]);
        most = bounds[2] ? Number(bounds[3] || least + 2) : least;
        at += bounds[0].length;
      }
    }
    if (source[at] === '?') at += 1;
    const times = Math.min(least + random.below(most - least + 1), 40);
    let text = '';
    for (let n = 0; n < times; n += 1) text += make();
    return text;
  }
  function group() {
    const branches = [''];
    while (at < source.length && source[at] !== ')') {
      if (source[at] === '|') { at += 1; branches.push(''); continue; }
      branches[branches.length - 1] += piece();
    }
    return random.pick(branches);
  }
  function charClass() {
    at += 1;
    const negated = source[at] === '^';
    if (negated) at += 1;
    let members = '';
    while (at < source.length && source[at] !== ']') {
      let char = source[at];
      if (char === '\\') {
        at += 1;
        members += sets[source[at]] || source[at];
        at += 1;
        continue;
      }
      at += 1;
      if (source[at] === '-' && source[at + 1] && source[at + 1] !== ']') {
        const last = source[at + 1];
        const [low, high] = [char.charCodeAt(0), last.charCodeAt(0)];
        members += char + String.fromCharCode(low + Math.floor((high - low) / 2)) + last;
        at += 2;
        char = '';
      }
      members += char;
    }
    at += 1;
    if (negated) members = [...'aZ5 -_.,'].filter((char) => !members.includes(char)).join('') || 'a';
    return members || 'a';
  }
  function piece() {
    const char = source[at];
    if (char === '^' || char === '$') { at += 1; return ''; }
    if (char === '(') {
      at += 1;
      const ahead = source.slice(at).match(/^\?(?:<?[=!])/);
      const named = source.slice(at).match(/^\?(?::|<[^>=!]+>)/);
      if (ahead) at += ahead[0].length;
      else if (named) at += named[0].length;
      const text = group();
      at += 1;
      return ahead ? '' : quantity(() => text);
    }
    if (char === '[') {
      const members = charClass();
      return quantity(() => members[random.below(members.length)]);
    }
    if (char === '\\') {
      const kind = source[at + 1];
      at += 2;
      if (kind === 'b' || kind === 'B') return '';
      if (kind === 'u' || kind === 'p' || kind === 'P' || kind === 'x') {
        const rest = source.slice(at).match(/^(\{[^}]*\}|[0-9a-fA-F]{2,4})/);
        if (rest) at += rest[0].length;
        return quantity(() => 'é');
      }
      const members = sets[kind] || { n: '\n', t: '\t', r: '\r' }[kind] || kind || '';
      return quantity(() => members[random.below(members.length)] || '');
    }
    at += 1;
    return quantity(() => (char === '.' ? 'x' : char));
  }
  const text = group();
  return text.length <= 200 ? text : text.slice(0, 200);
}

class Values {
  constructor(random, constants, make) {
    this.random = random;
    const numbers = new Set(NUMBERS);
    for (const n of constants.numbers) for (const near of [n, n - 1, n + 1, -n]) numbers.add(near);
    this.numbers = [...numbers].filter(Number.isFinite);
    this.nearNumbers = constants.numbers.flatMap((n) => [n, n - 1, n + 1]).filter(Number.isFinite);
    this.strings = [...new Set([...constants.strings, ...STRINGS])];
    this.nearStrings = constants.strings;
    this.regexes = constants.regexes;
    // Makes an instance of a class of the module.
    this.make = make;
  }

  string() {
    const { random } = this;
    if (this.regexes.length > 0 && random.oneIn(3)) return quote(matching(random.pick(this.regexes), random));
    if (this.nearStrings.length > 0 && random.oneIn(2)) {
      const near = random.pick(this.nearStrings);
      switch (random.below(5)) {
        case 0: return quote(near + random.pick(this.strings));
        case 1: return quote(random.pick(this.strings) + near);
        case 2: return quote(random.pick(this.strings) + near + random.pick(this.strings));
        default: return quote(near);
      }
    }
    if (random.oneIn(6)) return quote(random.pick(this.strings) + random.pick(this.strings));
    return quote(random.pick(this.strings));
  }

  number() {
    const { random } = this;
    const from = this.nearNumbers.length > 0 && random.oneIn(2) ? this.nearNumbers : this.numbers;
    return String(random.pick(from));
  }

  list(make, most = 5) {
    const items = [];
    for (let n = this.random.below(most + 1); n > 0; n -= 1) items.push(make());
    return items;
  }

  of(type, depth = 0) {
    const { random } = this;
    if (depth > 3) return random.pick(['1', "'a'", 'null']);
    const deeper = (inner) => this.of(inner, depth + 1);
    switch (type.kind) {
      case 'number': return this.number();
      case 'integer': return String(Math.trunc(Number(this.number())));
      case 'bigint': return `${Math.trunc(Number(this.number()))}n`;
      case 'string': return this.string();
      case 'boolean': return random.pick(['true', 'false']);
      case 'null': return 'null';
      case 'undefined': return 'undefined';
      case 'literal': return type.text.startsWith('"') ? quote(JSON.parse(type.text)) : type.text;
      case 'union': return deeper(random.pick(type.options));
      case 'enum': return `subject.${type.name}.${random.pick(type.members)}`;
      case 'date': return `new Date(${quote(random.pick(['2020-02-29T12:30:45.000Z', '1999-12-31T23:59:59.000Z', '2024-01-01T00:00:00.000Z', '1970-01-01T00:00:00.000Z', '2023-06-15T08:05:09.123Z']))})`;
      case 'regexp': return random.pick(['/a/', '/[0-9]+/g', '/^x/i']);
      case 'array': {
        // Mostly of one kind, as real lists are.
        const inner = type.of.kind === 'any' ? random.pick([{ kind: 'number' }, { kind: 'string' }, { kind: 'any' }, { kind: 'object' }]) : type.of;
        return `[${this.list(() => deeper(inner)).join(', ')}]`;
      }
      case 'tuple': return `[${type.items.map(deeper).join(', ')}]`;
      case 'set': return `new Set([${this.list(() => deeper(type.of)).join(', ')}])`;
      case 'map': return `new Map([${this.list(() => `[${deeper(type.key)}, ${deeper(type.of)}]`, 3).join(', ')}])`;
      case 'promise': return `Promise.resolve(${deeper(type.of)})`;
      case 'record': return `({ ${this.list(() => `${deeper({ kind: 'string' })}: ${deeper(type.of)}`, 3).join(', ')} })`;
      case 'fields': {
        const given = type.fields.filter((field) => !field.optional || !random.oneIn(3));
        return `({ ${given.map((field) => `${key(field.name)}: ${deeper(field.type)}`).join(', ')} })`;
      }
      case 'object':
        return random.pick(['({})', "({ a: 1 })", "({ a: 1, b: 'x' })", '({ a: { b: { c: 2 } } })', "({ x: [1, 2], y: null })",
          `({ ${this.list(() => `${random.pick(['a', 'b', 'name', 'id'])}: ${deeper({ kind: 'any' })}`, 3).join(', ')} })`]);
      case 'function':
        return random.pick(['(x) => x', '() => true', '() => false', '(a, b) => a - b', '(x) => x * 2', "(x) => String(x)", '(a, b) => a + b', '(x) => x > 1',
          `() => ${type.returns && type.returns.kind !== 'any' ? deeper(type.returns) : '1'}`]);
      case 'class': return this.make(type.name, depth) || '({})';
      default: {
        const kinds = ['number', 'string', 'string', 'number', 'boolean', 'null', 'undefined', 'array', 'object', 'function'];
        const kind = random.pick(kinds);
        return this.of(kind === 'array' ? { kind, of: { kind: 'any' } } : { kind }, depth + 1);
      }
    }
  }

  // A value near one that led somewhere.
  vary(source, type) {
    const { random } = this;
    if (/^-?\d+(\.\d+)?$/.test(source)) {
      const value = Number(source);
      return String(random.pick([value + 1, value - 1, -value, value * 10, Math.trunc(value / 2), value + 0.5]));
    }
    if (/^'.*'$/s.test(source) && !source.includes('\\')) {
      const text = source.slice(1, -1);
      const cut = random.below(text.length + 1);
      const changed = random.pick([
        () => text.slice(0, cut) + text.slice(cut + 1),
        () => text.slice(0, cut) + random.pick(this.strings) + text.slice(cut),
        () => text.toUpperCase(), () => text + text, () => text.trim(), () => text.slice(cut),
        () => text.replace(/\d/, '9'), () => `${text} `,
      ])();
      return quote(changed);
    }
    return this.of(type);
  }
}

function key(name) {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name);
}

module.exports = { Values, guess, matching };
