// Makes inputs as source text: from types, names, the constants of the code, and what worked before.
'use strict';

const { literal, quote } = require('./literals.cjs');
const { matching } = require('./patterns.cjs');

const NUMBERS = [0, 1, -1, 2, 3, 10, 0.5, 7, 100, -5, 1000, 12.75, 255, 1e6, 1234567, -1500, 1e9];
const STRINGS = ['', 'a', 'hello', 'Hello World', 'foo bar', 'abc123', '42', ' padded ', 'a-b_c.d', 'ÄÖ é', 'x,y,z',
  '3.14', 'true', 'null', 'a/b/c', 'user@example.com', '2020-02-29', '#ff0000', 'one\ntwo', '日本', 'UPPER', 'camelCaseName',
  'key=value&b=2', '{"a": 1}', '[1, 2]', '<b>x</b>', "it's", '10px', '1,234.5'];

const BIG = ['9007199254740993n', '123456789012345678901234567890n', '-9007199254740993n', `${10n ** 330n}n`];

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

const OPTIONS = /^(opts?|options|config|settings|props|params)$/i;

// What the body does with a parameter, or with a field of one, says what it is.
function byUse(name, body) {
  const p = name.replace(/[$.]/g, '\\$&').replace('\\.', '\\??\\.');
  const has = (pattern) => new RegExp(pattern).test(body);
  const uses = (pattern) => has(`(?<![\\w.$])${p}${pattern}`);
  const found = [];
  if (uses('\\s*\\.(?:trim|toLowerCase|toUpperCase|charAt|charCodeAt|codePointAt|split|replace|replaceAll|startsWith|endsWith|padStart|padEnd|match|matchAll|substring|substr|normalize|repeat|localeCompare)\\b')) found.push({ kind: 'string' });
  for (const kind of ['string', 'number', 'function', 'boolean', 'bigint']) {
    if (has(`typeof\\s+${p}\\s*[!=]==?\\s*['"]${kind}`)) found.push({ kind });
  }
  if (has(`Array\\.isArray\\(\\s*${p}\\b`)) found.push({ kind: 'array', of: { kind: 'any' } });
  if (has(`${p}\\s+instanceof\\s+Date|(?<![\\w.$])${p}\\s*\\.get(?:Time|FullYear|Month|Date|Hours)`)) found.push({ kind: 'date' });
  if (has(`${p}\\s+instanceof\\s+RegExp`)) found.push({ kind: 'regexp' });
  if (has(`${p}\\s+instanceof\\s+Map|(?<![\\w.$])${p}\\s*\\.(?:has|set)\\(`)) found.push({ kind: 'map', key: { kind: 'string' }, of: { kind: 'any' } });
  if (uses('\\s*\\.(?:map|filter|reduce|forEach|push|pop|some|every|sort|reverse|flat|flatMap|findIndex|find|splice|shift|unshift)\\b') || has(`\\bof\\s+${p}\\b`)) found.push({ kind: 'array', of: { kind: 'any' } });
  if (has(`Object\\.(?:keys|entries|values|assign)\\(\\s*${p}\\b|\\bin\\s+${p}\\b`)) found.push({ kind: 'object' });
  if (uses('\\s*\\(')) found.push({ kind: 'function' });
  const counted = uses('\\s*(?:[-*/%<>]|\\*\\*|[<>]=)\\s*[\\w(.]') || uses('\\s*\\.to(?:Fixed|Precision)\\b');
  if (counted || has(`[-*/%<>]\\s*${p}(?![\\w.$(])|Math\\.\\w+\\(\\s*${p}\\b|Number\\.is\\w+\\(\\s*${p}\\b`)) found.push({ kind: 'number' });
  return found.filter((type, at) => found.findIndex((other) => other.kind === type.kind) === at);
}

// What a field of a parameter is: by its use, by the value that stands in for it, or by being asked yes or no.
function ofField(owner, name, body) {
  const options = byUse(`${owner}.${name}`, body).concat(byUse(name, body));
  const stands = body.match(new RegExp(`(?<![\\w.$])${name.replace(/\$/g, '\\$')}\\s*[:=]\\s*(true|false|-?\\d|['"\`])`));
  if (stands) options.push({ kind: /^[tf]/.test(stands[1]) ? 'boolean' : /\d/.test(stands[1]) ? 'number' : 'string' });
  const p = `${owner}\\??\\.${name}`.replace(/\$/g, '\\$');
  if (new RegExp(`!\\s*${p}\\b|${p}\\s*(?:\\?[^.?]|&&|\\)|===?\\s*(?:true|false))`).test(body)) options.push({ kind: 'boolean' });
  if (options.length > 0) return oneOf(options);
  const hint = HINTS.find(([pattern]) => pattern.test(name));
  return hint ? hint[1] : { kind: 'any' };
}

function oneOf(options) {
  const kinds = options.filter((type, at) => options.findIndex((other) => other.kind === type.kind) === at);
  return kinds.length === 1 ? kinds[0] : { kind: 'union', options: kinds };
}

// Fields that the code reads of a parameter.
function fieldsRead(name, body) {
  const p = name.replace(/\$/g, '\\$');
  const names = new Set();
  for (const match of body.matchAll(new RegExp(`(?<![\\w.$])${p}\\??\\.([A-Za-z_$][\\w$]*)(?![\\w$])(?!\\s*\\()`, 'g'))) names.add(match[1]);
  for (const match of body.matchAll(new RegExp(`\\{([^{}]*)\\}\\s*=\\s*${p}\\b`, 'g'))) {
    for (const part of match[1].split(',')) {
      const field = part.trim().match(/^[A-Za-z_$][\w$]*/);
      if (field) names.add(field[0]);
    }
  }
  names.delete('length');
  return [...names].slice(0, 16);
}

// `others` are the bodies of the module's other functions, which options are handed on to.
function guess(param, body, others = '') {
  const options = byUse(param.name, body);
  const everywhere = OPTIONS.test(param.name) ? `${body}\n${others}` : body;
  const fields = fieldsRead(param.name, everywhere);
  if (fields.length > 0 && !options.some((type) => ['string', 'array', 'date', 'map', 'number'].includes(type.kind))) {
    return { kind: 'fields', fields: fields.map((name) => ({ name, optional: true, type: ofField(param.name, name, everywhere) })) };
  }
  const hint = HINTS.find(([pattern]) => pattern.test(param.name));
  if (options.length === 0 && hint) options.push(hint[1]);
  if (options.length === 0) return { kind: 'any' };
  return oneOf(options);
}

class Values {
  constructor(random, constants, make) {
    this.random = random;
    const given = constants.numbers.filter(Number.isFinite);
    // Code that counts in units multiplies them: 1000, then 60 of those, then 60 of those.
    const products = [];
    given.filter((n) => Math.abs(n) > 1).slice(0, 12).reduce((sofar, n) => {
      const next = sofar * n;
      if (Math.abs(next) < 1e18) products.push(next);
      return Math.abs(next) < 1e18 ? next : n;
    }, 1);
    const near = [...given, ...products].flatMap((n) => [n, n - 1, n + 1]);
    this.nearNumbers = [...new Set(near)];
    this.numbers = [...new Set([...NUMBERS, ...near, ...given.map((n) => -n)])];
    this.strings = [...new Set([...constants.strings, ...STRINGS])];
    this.nearStrings = constants.strings.filter((text) => text.length <= 40);
    this.regexes = [...constants.regexes];
    this.close = { numbers: [], strings: [], regexes: [] };
    // What people wrote about the code.
    this.told = [];
    // Makes an instance of a class of the module.
    this.make = make;
  }

  // More material, from texts about the code and from what calls were seen to look for.
  learn({ regexes, strings, told = [] }) {
    const more = (known, found, most) => {
      for (const one of found) if (known.length < most && !known.includes(one)) known.push(one);
    };
    more(this.regexes, regexes, 80);
    more(this.strings, strings, 400);
    more(this.told, told, 300);
  }

  // What stands around the places that are aimed at: taken more often than the rest.
  near({ numbers, strings, regexes }) {
    this.close = { numbers: numbers.flatMap((n) => [n, n - 1, n + 1]), strings, regexes };
  }

  text() {
    const { random, close } = this;
    if (close.regexes.length > 0 && random.oneIn(8)) return matching(random.pick(close.regexes), random);
    if (close.strings.length > 0 && random.oneIn(8)) return random.pick(close.strings);
    if (this.told.length > 0 && random.oneIn(5)) return random.pick(this.told);
    if (this.regexes.length > 0 && random.oneIn(3)) return matching(random.pick(this.regexes), random);
    if (this.nearStrings.length > 0 && random.oneIn(2)) {
      const near = random.pick(this.nearStrings);
      switch (random.below(6)) {
        case 0: return near + random.pick(this.strings);
        case 1: return random.pick(this.strings) + near;
        case 2: return random.pick(this.strings) + near + random.pick(this.strings);
        case 3: return random.pick(this.numbers) + random.pick(['', ' ']) + near;
        default: return near;
      }
    }
    if (random.oneIn(6)) return random.pick(this.strings) + random.pick(this.strings);
    return random.pick(this.strings);
  }

  string() {
    return quote(this.text());
  }

  number() {
    const { random } = this;
    if (this.close.numbers.length > 0 && random.oneIn(6)) return String(random.pick(this.close.numbers));
    const from = this.nearNumbers.length > 0 && random.oneIn(2) ? this.nearNumbers : this.numbers;
    const number = random.pick(from);
    return String(random.oneIn(12) ? -number : number);
  }

  // What nobody expects.
  odd() {
    return this.random.pick(['null', 'undefined', 'NaN', 'Infinity', "''", '[]', '{}', 'true', '-1', "'1'", '0']);
  }

  list(make, most = 5) {
    const items = [];
    for (let n = this.random.below(most + 1); n > 0; n -= 1) items.push(make());
    return items;
  }

  // An object of some fields; braces alone stand for none.
  braces(fields) {
    return fields.length > 0 ? `{ ${fields.join(', ')} }` : '{}';
  }

  of(type, depth = 0) {
    const { random } = this;
    if (depth > 3) return random.pick(['1', "'a'", 'null']);
    const deeper = (inner) => this.of(inner, depth + 1);
    switch (type.kind) {
      case 'number': return this.number();
      case 'integer': return String(Math.trunc(Number(this.number())));
      case 'bigint': return random.oneIn(4) ? random.pick(BIG) : `${Math.trunc(Number(this.number()))}n`;
      case 'string': return this.string();
      case 'boolean': return random.pick(['true', 'false']);
      case 'null': return 'null';
      case 'undefined': return 'undefined';
      case 'literal': return type.text.startsWith('"') ? quote(JSON.parse(type.text)) : type.text;
      case 'union': return this.of(random.pick(type.options), depth);
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
      case 'record': return this.braces(this.list(() => `${deeper({ kind: 'string' })}: ${deeper(type.of)}`, 3));
      case 'fields': {
        const rarely = random.oneIn(2) ? 2 : 1;
        const given = type.fields.filter((field) => !field.optional || random.oneIn(rarely + 1));
        return this.braces(given.map((field) => `${key(field.name)}: ${deeper(field.type)}`));
      }
      case 'object':
        return random.pick(['{}', '{ a: 1 }', "{ a: 1, b: 'x' }", '{ a: { b: { c: 2 } } }', '{ x: [1, 2], y: null }',
          this.braces(this.list(() => `${random.pick(['a', 'b', 'name', 'id'])}: ${deeper({ kind: 'any' })}`, 3))]);
      case 'function':
        return random.pick(['(x) => x', '() => true', '() => false', '(a, b) => a - b', '(x) => x * 2', '(x) => String(x)', '(a, b) => a + b', '(x) => x > 1',
          `() => (${type.returns && type.returns.kind !== 'any' ? deeper(type.returns) : '1'})`]);
      case 'class': return this.make(type.name, depth) || '{}';
      default: {
        const kinds = ['number', 'string', 'string', 'number', 'boolean', 'null', 'undefined', 'array', 'object', 'function'];
        // Something plain mostly: keys and values that come again.
        if (random.oneIn(2)) return random.pick(['1', "'a'", "'b'", '2', "'key'", 'true']);
        const kind = random.pick(kinds);
        return this.of(kind === 'array' ? { kind, of: { kind: 'any' } } : { kind }, depth + 1);
      }
    }
  }

  // A value near one that led somewhere.
  vary(source, type) {
    if (this.random.oneIn(4) || /=>|subject|Promise/.test(source)) return this.of(type);
    let value;
    try {
      value = new Function(`return (${source});`)();
    } catch {
      return this.of(type);
    }
    const text = literal(this.changed(value, type));
    return text === null ? this.of(type) : text;
  }

  changed(value, type) {
    const { random } = this;
    if (typeof value === 'number') {
      return random.pick([value + 1, value - 1, -value, value * 10, Math.trunc(value / 2), value + 0.5, Math.round(value), value * random.pick(this.numbers)]);
    }
    if (typeof value === 'boolean') return !value;
    if (typeof value === 'bigint') return random.pick([value + 1n, -value, value * 1000n, value / 2n]);
    if (typeof value === 'string') {
      const cut = random.below(value.length + 1);
      const end = cut + random.below(value.length - cut + 1);
      return random.pick([
        () => value.slice(0, cut) + value.slice(cut + 1),
        () => value.slice(0, cut) + value.slice(end),
        () => value.slice(0, cut) + this.text() + value.slice(cut),
        () => value.slice(0, cut) + this.text() + value.slice(end),
        () => value.slice(0, cut) + random.pick(this.nearStrings.length > 0 ? this.nearStrings : this.strings) + value.slice(cut),
        () => value.toUpperCase(), () => value + value, () => value.trim(), () => value.slice(cut),
        () => value.replace(/\d+/, () => String(random.pick(this.numbers))), () => ` ${value}`,
        () => value.slice(0, cut) + random.pick([...' -_.,:;/+*%#019aZ']) + value.slice(cut),
      ])();
    }
    if (Array.isArray(value)) {
      const copy = [...value];
      const at = random.below(copy.length + 1);
      const inner = type.kind === 'array' && type.of.kind !== 'any' ? type.of : { kind: 'any' };
      const item = () => (copy.length > 0 && random.oneIn(2) ? random.pick(copy) : this.value(inner));
      if (copy.length > 0 && random.oneIn(2)) copy[Math.min(at, copy.length - 1)] = this.changed(copy[Math.min(at, copy.length - 1)], inner);
      else if (copy.length > 0 && random.oneIn(3)) copy.splice(Math.min(at, copy.length - 1), 1);
      else copy.splice(at, 0, item());
      return copy;
    }
    if (value && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) {
      const copy = { ...value };
      const names = Object.keys(copy);
      const fields = type.kind === 'fields' ? type.fields : [];
      if (names.length > 0 && random.oneIn(4)) delete copy[random.pick(names)];
      else if (fields.length > 0 && random.oneIn(2)) {
        const field = random.pick(fields);
        copy[field.name] = this.value(field.type);
      } else if (names.length > 0) {
        const name = random.pick(names);
        copy[name] = this.changed(copy[name], { kind: 'any' });
      }
      return copy;
    }
    return this.value(type);
  }

  // A new value itself, where it can be made without the module.
  value(type) {
    const source = this.of(type, 2);
    try {
      return new Function(`return (${source});`)();
    } catch {
      return null;
    }
  }
}

function key(name) {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name);
}

module.exports = { Values, byUse, guess };
