// Parses types of TypeScript and JSDoc into small trees that values are generated from.
'use strict';

const WORDS = {
  number: 'number', Number: 'number', float: 'number', int: 'integer', integer: 'integer',
  string: 'string', String: 'string',
  boolean: 'boolean', Boolean: 'boolean', bool: 'boolean',
  bigint: 'bigint', null: 'null', undefined: 'undefined', void: 'undefined', never: 'undefined',
  any: 'any', unknown: 'any', object: 'object', Object: 'object', '*': 'any',
  Function: 'function', function: 'function', Date: 'date', RegExp: 'regexp', symbol: 'any', PropertyKey: 'string',
};

function tokens(text) {
  const pattern = /\s+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`|-?\d+(?:\.\d+)?n?|[A-Za-z_$][\w$.]*|=>|\.\.\.|[^\s]/g;
  return (text.match(pattern) || []).filter((token) => !/^\s+$/.test(token));
}

// `known` maps names of the module's own interfaces, aliases and enums to their text.
function parse(text, known = {}, depth = 0) {
  const list = tokens(text);
  let at = 0;
  const peek = () => list[at];
  const take = () => list[at++];
  const eat = (token) => (list[at] === token ? (at++, true) : false);

  function union() {
    eat('|');
    const options = [intersection()];
    while (eat('|')) options.push(intersection());
    return options.length === 1 ? options[0] : { kind: 'union', options };
  }

  function intersection() {
    eat('&');
    const parts = [postfix()];
    while (eat('&')) parts.push(postfix());
    if (parts.length === 1) return parts[0];
    const fields = parts.filter((part) => part.kind === 'fields').flatMap((part) => part.fields);
    return fields.length > 0 ? { kind: 'fields', fields } : parts[0];
  }

  function postfix() {
    let type = primary();
    while (peek() === '[') {
      take();
      if (eat(']')) type = { kind: 'array', of: type };
      else {
        // Indexed access types are not resolved.
        skipTo(']');
        type = { kind: 'any' };
      }
    }
    if (eat('?')) return { kind: 'union', options: [type, { kind: 'null' }] };
    return type;
  }

  function skipTo(end) {
    let open = 1;
    const starts = { ']': '[', '>': '<', ')': '(', '}': '{' }[end];
    while (at < list.length && open > 0) {
      const token = take();
      if (token === starts) open += 1;
      if (token === end) open -= 1;
    }
  }

  function isFunction() {
    let open = 0;
    for (let look = at; look < list.length; look += 1) {
      if (list[look] === '(') open += 1;
      if (list[look] === ')') {
        open -= 1;
        if (open === 0) return list[look + 1] === '=>';
      }
    }
    return false;
  }

  function primary() {
    const token = peek();
    if (token === undefined) return { kind: 'any' };
    if (token === '(') {
      if (isFunction()) {
        take();
        skipTo(')');
        eat('=>');
        return { kind: 'function', returns: union() };
      }
      take();
      const inner = union();
      eat(')');
      return inner;
    }
    if (token === '{') return fields();
    if (token === '[') {
      take();
      const items = [];
      while (at < list.length && !eat(']')) {
        eat('...');
        if (/^[A-Za-z_$]/.test(peek() || '') && (list[at + 1] === ':' || (list[at + 1] === '?' && list[at + 2] === ':'))) {
          take();
          eat('?');
          take();
        }
        items.push(union());
        eat(',');
      }
      return { kind: 'tuple', items };
    }
    take();
    if (token === '?' || token === '!') return primary();
    if (token === '...') return { kind: 'array', of: postfix() };
    if (/^["']/.test(token)) return { kind: 'literal', text: token };
    if (/^-?\d/.test(token)) return { kind: 'literal', text: token };
    if (token.startsWith('`')) return { kind: 'string' };
    if (token === 'true' || token === 'false') return { kind: 'literal', text: token };
    if (['readonly', 'keyof', 'typeof', 'unique', 'infer', 'asserts'].includes(token)) {
      return token === 'keyof' ? (postfix(), { kind: 'string' }) : postfix();
    }
    return named(token);
  }

  function args() {
    eat('.');
    const found = [];
    if (!eat('<')) return found;
    while (at < list.length && !eat('>')) {
      found.push(union());
      eat(',');
    }
    return found;
  }

  function named(name) {
    const given = args();
    const any = { kind: 'any' };
    switch (name) {
      case 'Array': case 'ReadonlyArray': case 'Iterable': case 'ArrayLike': case 'IterableIterator':
        return { kind: 'array', of: given[0] || any };
      case 'Set': case 'ReadonlySet':
        return { kind: 'set', of: given[0] || any };
      case 'Map': case 'ReadonlyMap':
        return { kind: 'map', key: given[0] || { kind: 'string' }, of: given[1] || any };
      case 'Record': case 'Object':
        return given.length === 2 ? { kind: 'record', key: given[0], of: given[1] } : { kind: 'object' };
      case 'Promise': case 'PromiseLike':
        return { kind: 'promise', of: given[0] || any };
      case 'Partial': case 'Required': case 'Readonly': case 'NonNullable': case 'Pick': case 'Omit': case 'Awaited':
        return given[0] || any;
      default:
    }
    if (Object.hasOwn(WORDS, name)) return { kind: WORDS[name] };
    if (Object.hasOwn(known, name) && depth < 4) {
      const own = known[name];
      if (own.kind === 'enum') return { kind: 'enum', name, members: own.members };
      if (own.kind === 'class') return { kind: 'class', name };
      return parse(own.text, known, depth + 1);
    }
    return { kind: 'named', name };
  }

  function fields() {
    take();
    const found = [];
    let index = null;
    while (at < list.length && !eat('}')) {
      if (eat(',') || eat(';')) continue;
      eat('readonly');
      if (peek() === '[') {
        take();
        skipTo(']');
        eat('?');
        eat(':');
        index = union();
        continue;
      }
      const name = (take() || '').replace(/^["']|["']$/g, '');
      const optional = eat('?');
      if (peek() === '(') {
        take();
        skipTo(')');
        if (eat(':')) union();
        found.push({ name, optional, type: { kind: 'function', returns: { kind: 'any' } } });
        continue;
      }
      found.push({ name, optional, type: eat(':') ? union() : { kind: 'any' } });
    }
    if (found.length === 0 && index) return { kind: 'record', key: { kind: 'string' }, of: index };
    return { kind: 'fields', fields: found };
  }

  try {
    return union();
  } catch {
    return { kind: 'any' };
  }
}

// Whether a value is certainly of a type. False for types that allow any value.
function isOf(value, type) {
  const isObject = Boolean(value) && typeof value === 'object';
  switch (type.kind) {
    case 'number': case 'integer': return Number.isFinite(value);
    case 'string': case 'boolean': case 'bigint': case 'undefined': return typeof value === type.kind;
    case 'null': return value === null;
    case 'array': return Array.isArray(value) && value.every((item) => isOf(item, type.of));
    case 'tuple': return Array.isArray(value) && value.length === type.items.length && value.every((item, at) => isOf(item, type.items[at]));
    case 'set': return value instanceof Set && [...value].every((item) => isOf(item, type.of));
    case 'map': return value instanceof Map && [...value].every(([key, item]) => isOf(key, type.key) && isOf(item, type.of));
    case 'union': return type.options.some((option) => isOf(value, option));
    case 'literal': return String(value) === type.text.replace(/^["']|["']$/g, '');
    case 'date': return value instanceof Date && !Number.isNaN(value.getTime());
    case 'class': return isObject && value.constructor.name === type.name;
    case 'record': return isObject && Object.values(value).every((item) => isOf(item, type.of));
    case 'fields': return isObject && type.fields.every(({ name, optional, type: inner }) => (value[name] === undefined ? optional : isOf(value[name], inner)));
    default: return false;
  }
}

module.exports = { isOf, parse };
