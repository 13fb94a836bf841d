// What a function takes: from the syntax tree, from its own text, and from what its body does with it.
'use strict';

const { parse } = require('./type_hints.cjs');
const { byUse, guess } = require('./values.cjs');

// Names of parameters from the text of a function, for what the syntax tree did not tell.
function written(fn) {
  const text = Function.prototype.toString.call(fn);
  const open = text.indexOf('(');
  const arrow = text.match(/^(?:async\s+)?([A-Za-z_$][\w$]*)\s*=>/);
  if (arrow) return [{ name: arrow[1] }];
  if (open < 0) return [];
  let depth = 0;
  let end = open;
  for (; end < text.length; end += 1) {
    if ('([{'.includes(text[end])) depth += 1;
    if (')]}'.includes(text[end])) depth -= 1;
    if (depth === 0) break;
  }
  const params = [];
  let part = '';
  for (const char of `${text.slice(open + 1, end)},`) {
    if ('([{'.includes(char)) depth += 1;
    if (')]}'.includes(char)) depth -= 1;
    if (char === ',' && depth === 0) {
      if (part.trim()) params.push(part.trim());
      part = '';
    } else part += char;
  }
  return params.map((param, index) => {
    const name = param.replace(/^\.\.\./, '').match(/^[A-Za-z_$][\w$]*/);
    return { name: name ? name[0] : `arg${index}`, rest: param.startsWith('...'), optional: /=/.test(param), pattern: name ? null : param };
  });
}

function destructured(pattern) {
  const inner = pattern.match(/^\{([\s\S]*)\}/);
  if (!inner) return { kind: 'any' };
  const names = inner[1].split(',').map((part) => part.trim().match(/^[A-Za-z_$][\w$]*/)).filter(Boolean);
  return { kind: 'fields', fields: names.map(([name]) => ({ name, optional: true, type: guess({ name }, '') })) };
}

// Names that people give to another of the same kind.
const OTHER = /^(other|that|another|rhs|peer|sibling)$/i;
const MOST_WORDS = 24;

// What a parameter may be besides: another object of its class, or one of the words that it is compared with.
function withOthers(type, name, text, self) {
  const p = name.replace(/\$/g, '\\$');
  const options = [];
  const asked = [...text.matchAll(new RegExp(`(?<![\\w.$])${p}\\s+instanceof\\s+([A-Za-z_$][\\w$]*)`, 'g'))].map((match) => match[1]);
  if (self && (asked.some((one) => self.names.includes(one)) || OTHER.test(name) || isLike(type, self))) options.push({ kind: 'class', name: self.names[0] });
  const words = new Set();
  for (const match of text.matchAll(new RegExp(`(?<![\\w.$])${p}\\s*[!=]==?\\s*('[^'\\n]*'|"[^"\\n]*")`, 'g'))) words.add(match[1]);
  const choice = text.match(new RegExp(`switch\\s*\\(\\s*${p}\\s*\\)`));
  if (choice) for (const match of text.slice(choice.index).matchAll(/\bcase\s+('[^'\n]*'|"[^"\n]*")\s*:/g)) words.add(match[1]);
  const literals = [...words].slice(0, MOST_WORDS).map((word) => ({ kind: 'literal', text: JSON.stringify(word.slice(1, -1)) }));
  if (literals.length > 0) options.push({ kind: 'union', options: literals });
  if (options.length === 0) return type;
  // What is merely unknown says less than these.
  return { kind: 'union', options: type.kind === 'any' ? [...options, ...options, type] : [...options, type] };
}

// Whether the code reads of a value what objects of the class have.
function isLike(type, self) {
  return type.kind === 'fields' && type.fields.length > 0 && type.fields.filter((field) => self.members.has(field.name)).length * 2 > type.fields.length;
}

// `self` is the class that a method belongs to.
function parameters(known, fn, { types, functions, classes }, self = null) {
  const text = (known && known.body) || Function.prototype.toString.call(fn);
  const bodies = [...Object.values(functions), ...Object.values(classes).flatMap((one) => Object.values(one.methods))].map((one) => one.body).join('\n');
  const told = known && known.params.length > 0 ? known.params : written(fn);
  return told.map((param) => {
    let type = { kind: 'any' };
    const typed = Boolean(param.type);
    if (typed) type = parse(param.type, types);
    // "An object" says less than the fields that the code reads of it.
    if (['any', 'named', 'object'].includes(type.kind)) {
      const guessed = param.pattern ? destructured(param.pattern) : guess(param, text, bodies);
      if (type.kind !== 'object' || guessed.kind === 'fields') type = withOthers(guessed, param.name, text, self);
    }
    // What the code replaces when it is missing may be left out.
    const optional = param.optional || new RegExp(`(?<![\\w.$])${param.name.replace(/\$/g, '\\$')}\\s*(?:=\\s*${param.name}\\s*)?(?:\\|\\||\\?\\?)`).test(text);
    // What the code calls methods of says what it is as well as a declaration does.
    const [used, ...others] = typed ? [] : byUse(param.name, text);
    const sure = typed || (others.length === 0 && used !== undefined && ['string', 'number'].includes(used.kind) && used.kind === type.kind);
    return { name: param.name, type, typed, sure, optional: Boolean(optional), rest: Boolean(param.rest) };
  });
}

// What is called with what, and where it is written.
function signature(known, fn, plan, self = null) {
  return { params: parameters(known, fn, plan, self), line: known ? known.line : 0 };
}

module.exports = { parameters, signature };
