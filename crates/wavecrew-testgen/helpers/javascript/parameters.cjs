// The parameters of a function: from the syntax tree, its text, and what its body does with them.
'use strict';

const { parse } = require('./type_hints.cjs');
const { byUse, guess } = require('./usage.cjs');

// Parameters from the text of a function, when the syntax tree has none.
function parametersInText(fn) {
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

// Names for another object of the same class.
const OTHER_OBJECT = /^(other|that|another|rhs|peer|sibling)$/i;
const MAX_WORDS = 24;

// Widens a type by what else the parameter may take: another object of its class, or a string that it is compared with.
function widened(type, name, text, self) {
  const p = name.replace(/\$/g, '\\$');
  const options = [];
  const asked = [...text.matchAll(new RegExp(`(?<![\\w.$])${p}\\s+instanceof\\s+([A-Za-z_$][\\w$]*)`, 'g'))].map((match) => match[1]);
  if (self && (asked.some((one) => self.names.includes(one)) || OTHER_OBJECT.test(name) || isLike(type, self))) options.push({ kind: 'class', name: self.names[0] });
  const words = new Set();
  for (const match of text.matchAll(new RegExp(`(?<![\\w.$])${p}\\s*[!=]==?\\s*('[^'\\n]*'|"[^"\\n]*")`, 'g'))) words.add(match[1]);
  const choice = text.match(new RegExp(`switch\\s*\\(\\s*${p}\\s*\\)`));
  if (choice) for (const match of text.slice(choice.index).matchAll(/\bcase\s+('[^'\n]*'|"[^"\n]*")\s*:/g)) words.add(match[1]);
  const literals = [...words].slice(0, MAX_WORDS).map((word) => ({ kind: 'literal', text: JSON.stringify(word.slice(1, -1)) }));
  if (literals.length > 0) options.push({ kind: 'union', options: literals });
  if (options.length === 0) return type;
  // An unknown type gets less weight.
  return { kind: 'union', options: type.kind === 'any' ? [...options, ...options, type] : [...options, type] };
}

// Whether the code reads fields that objects of the class have.
function isLike(type, self) {
  return type.kind === 'fields' && type.fields.length > 0 && type.fields.filter((field) => self.members.has(field.name)).length * 2 > type.fields.length;
}

// `self` is the class of a method.
function parameters(known, fn, { types, functions, classes }, self = null) {
  const text = (known && known.body) || Function.prototype.toString.call(fn);
  const bodies = [...Object.values(functions), ...Object.values(classes).flatMap((one) => Object.values(one.methods))].map((one) => one.body).join('\n');
  const found = known && known.params.length > 0 ? known.params : parametersInText(fn);
  return found.map((param) => {
    let type = { kind: 'any' };
    const typed = Boolean(param.type);
    if (typed) type = parse(param.type, types);
    // The fields that the code reads say more than `object`.
    if (['any', 'named', 'object'].includes(type.kind)) {
      const guessed = param.pattern ? destructured(param.pattern) : guess(param, text, bodies);
      if (type.kind !== 'object' || guessed.kind === 'fields') type = widened(guessed, param.name, text, self);
    }
    // A parameter with a fallback in the body is optional.
    const optional = param.optional || new RegExp(`(?<![\\w.$])${param.name.replace(/\$/g, '\\$')}\\s*(?:=\\s*${param.name}\\s*)?(?:\\|\\||\\?\\?)`).test(text);
    // Called methods identify a type as surely as a declaration.
    const [used, ...others] = typed ? [] : byUse(param.name, text);
    const sure = typed || (others.length === 0 && used !== undefined && ['string', 'number'].includes(used.kind) && used.kind === type.kind);
    return { name: param.name, type, typed, sure, optional: Boolean(optional), rest: Boolean(param.rest) };
  });
}

// Parameters and line of a function.
function signature(known, fn, plan, self = null) {
  return { params: parameters(known, fn, plan, self), line: known ? known.line : 0 };
}

module.exports = { parameters, signature };
