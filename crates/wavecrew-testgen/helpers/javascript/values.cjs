// Generates inputs as source text: from types, names, constants of the code, and inputs that worked before.
'use strict';

const { literal, quote } = require('./literals.cjs');
const { stringMatching } = require('./patterns.cjs');

const NUMBERS = [0, 1, -1, 2, 3, 10, 0.5, 7, 100, -5, 1000, 12.75, 255, 1e6, 1234567, -1500, 1e9];
const STRINGS = ['', 'a', 'hello', 'Hello World', 'foo bar', 'abc123', '42', ' padded ', 'a-b_c.d', 'ÄÖ é', 'x,y,z',
  '3.14', 'true', 'null', 'a/b/c', 'user@example.com', '2020-02-29', '#ff0000', 'one\ntwo', '日本', 'UPPER', 'camelCaseName',
  'key=value&b=2', '{"a": 1}', '[1, 2]', '<b>x</b>', "it's", '10px', '1,234.5'];

const BIG = ['9007199254740993n', '123456789012345678901234567890n', '-9007199254740993n', `${10n ** 330n}n`];

class Values {
  constructor(random, constants, make) {
    this.random = random;
    const given = constants.numbers.filter(Number.isFinite);
    // Code that converts units multiplies them: 1000, times 60, times 60.
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
    this.preferred = { numbers: [], strings: [], regexes: [] };
    // Words from comments and documentation.
    this.words = [];
    // Creates an instance of a class of the module.
    this.make = make;
  }

  // Adds material from texts about the code and from what calls look up.
  learn({ regexes, strings, words = [] }) {
    const more = (known, found, most) => {
      for (const one of found) if (known.length < most && !known.includes(one)) known.push(one);
    };
    more(this.regexes, regexes, 80);
    more(this.strings, strings, 400);
    more(this.words, words, 300);
  }

  // Constants around uncovered code, which are used more often than others.
  prefer({ numbers, strings, regexes }) {
    this.preferred = { numbers: numbers.flatMap((n) => [n, n - 1, n + 1]), strings, regexes };
  }

  text() {
    const { random, preferred } = this;
    if (preferred.regexes.length > 0 && random.oneIn(8)) return stringMatching(random.pick(preferred.regexes), random);
    if (preferred.strings.length > 0 && random.oneIn(8)) return random.pick(preferred.strings);
    if (this.words.length > 0 && random.oneIn(5)) return random.pick(this.words);
    if (this.regexes.length > 0 && random.oneIn(3)) return stringMatching(random.pick(this.regexes), random);
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
    if (this.preferred.numbers.length > 0 && random.oneIn(6)) return String(random.pick(this.preferred.numbers));
    const from = this.nearNumbers.length > 0 && random.oneIn(2) ? this.nearNumbers : this.numbers;
    const number = random.pick(from);
    return String(random.oneIn(12) ? -number : number);
  }

  // Unusual values.
  odd() {
    return this.random.pick(['null', 'undefined', 'NaN', 'Infinity', "''", '[]', '{}', 'true', '-1', "'1'", '0']);
  }

  list(make, most = 5) {
    const items = [];
    for (let n = this.random.below(most + 1); n > 0; n -= 1) items.push(make());
    return items;
  }

  // An object literal.
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
        // Mostly of one type, as in real lists.
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
        // Mostly simple values that recur as keys and values.
        if (random.oneIn(2)) return random.pick(['1', "'a'", "'b'", '2', "'key'", 'true']);
        const kind = random.pick(kinds);
        return this.of(kind === 'array' ? { kind, of: { kind: 'any' } } : { kind }, depth + 1);
      }
    }
  }

  // A variant of a value.
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

  // A new value rather than its source, when it does not need the module.
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

module.exports = { Values };
