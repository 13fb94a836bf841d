// What a module offers to be called: functions, classes with their methods, and functions in exported objects.
'use strict';

const { parse } = require('./types.cjs');
const { byUse, guess } = require('./values.cjs');

const plain = /^[A-Za-z_$][\w$]*$/;

// Of the syntax, or a constructor with methods as older code writes it.
function isClass(value) {
  if (/^class[\s{]/.test(Function.prototype.toString.call(value))) return true;
  return Boolean(value.prototype) && Object.getOwnPropertyNames(value.prototype).length > 1;
}

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

// Names that objects have by themselves are no entries.
function own(table, name) {
  return table && Object.hasOwn(table, name) ? table[name] : undefined;
}

function parameters(known, fn, { types, functions, classes }) {
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
      if (type.kind !== 'object' || guessed.kind === 'fields') type = guessed;
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
function signature(known, fn, plan) {
  return { params: parameters(known, fn, plan), line: known ? known.line : 0 };
}

function subjects(subject, plan) {
  const found = [];
  const add = (entry) => found.push(entry);
  const visit = (name, value, expression, depth, owner) => {
    if (typeof value === 'function') {
      // Under its own name, that of its export, or that of a whole module.
      const names = [value.name, name.split('.').pop(), depth === 0 && ['default', plan.stem].includes(name) ? 'exports' : ''];
      const aliases = [...new Set(names.filter((word) => plain.test(word) && word !== 'default' && word !== 'exports'))];
      const classKnown = names.map((word) => own(plan.classes, word)).find(Boolean);
      if (isClass(value) || classKnown) {
        const known = classKnown || { methods: {} };
        add({ kind: 'class', name, aliases, expression, value, ...classOf(value, known, plan) });
        for (const key of Object.getOwnPropertyNames(value)) {
          if (['length', 'name', 'prototype'].includes(key) || !plain.test(key) || typeof value[key] !== 'function') continue;
          add({ kind: 'function', name: `${name}.${key}`, aliases: [key], expression: `${expression}.${key}`, value: value[key], owner: value, key, ...signature(own(known.methods, key), value[key], plan) });
        }
      } else {
        const known = names.map((word) => own(plan.functions, word)).find(Boolean);
        add({ kind: 'function', name, aliases, expression, value, owner, key: owner && name.split('.').pop(), ...signature(known, value, plan) });
        // Functions that hang on a function, as older packages export them.
        if (depth === 0 && ['default', plan.stem].includes(name)) members(name, value, expression);
      }
    } else if (value && typeof value === 'object' && depth === 0 && !Array.isArray(value)) members(name, value, expression);
  };
  const members = (name, value, expression) => {
    for (const key of Object.keys(value).slice(0, 40)) {
      const twice = found.some((target) => target.value === value[key]) || Object.values(subject).includes(value[key]);
      if (plain.test(key) && typeof value[key] === 'function' && !twice) visit(`${name}.${key}`, value[key], `${expression}.${key}`, 1, value);
    }
  };
  if (typeof subject === 'function') visit(plan.stem, subject, 'subject', 0);
  for (const name of Object.keys(subject)) {
    if (!plain.test(name) || name === '__esModule') continue;
    // What is exported by name is not tested again as a part of the default export.
    if (name === 'default' && Object.keys(subject).some((other) => other !== 'default' && subject[other] === subject.default)) continue;
    visit(name, subject[name], `subject.${name}`, 0);
  }
  return found.map((target) => ({ examples: [], claims: [], ...target }));
}

// Prototypes of the module's own, the nearest first: what the language gives is not under test.
function ancestry(value) {
  const found = [];
  for (let at = value.prototype; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    if (/\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(at.constructor))) break;
    found.push(at);
  }
  return found;
}

function classOf(value, known, plan) {
  const steps = [];
  const getters = [];
  const taken = new Set(['constructor']);
  for (const prototype of ancestry(value)) {
    for (const key of Object.getOwnPropertyNames(prototype)) {
      if (taken.has(key) || !plain.test(key) || key.startsWith('_')) continue;
      taken.add(key);
      const property = Object.getOwnPropertyDescriptor(prototype, key);
      if (property.get) getters.push(key);
      if (property.set) steps.push({ how: 'set', name: key, params: parameters(null, property.set, plan) });
      if (typeof property.value === 'function') steps.push({ how: 'call', name: key, ...signature(own(known.methods, key), property.value, plan) });
    }
    if (Object.hasOwn(prototype, Symbol.iterator) && !steps.some((step) => step.how === 'spread')) steps.push({ how: 'spread', name: 'iterator', params: [] });
  }
  const text = Function.prototype.toString.call(value);
  const from = text.search(/\bconstructor\s*\(/);
  const made = known.constructor_ || null;
  let params = [];
  if (made) params = made.params.length > 0 ? parameters(made, value, plan) : [];
  else if (from >= 0) params = parameters(null, fnFromText(text.slice(from)), plan);
  else if (!text.startsWith('class')) params = parameters(null, value, plan);
  return { params, steps, getters, line: made ? made.line : 0 };
}

// A function whose text starts with a parameter list, as constructors in a class do.
function fnFromText(text) {
  let depth = 0;
  let end = text.indexOf('(');
  for (; end < text.length; end += 1) {
    if ('([{'.includes(text[end])) depth += 1;
    if (')]}'.includes(text[end])) depth -= 1;
    if (depth === 0) break;
  }
  try {
    return new Function(`return function ${text.slice(0, end + 1)} {}`)();
  } catch {
    return function none() {};
  }
}

module.exports = { subjects };
