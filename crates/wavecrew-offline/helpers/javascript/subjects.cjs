// What a module offers to be called: functions, classes with their methods, and functions in exported objects.
'use strict';

const { parse } = require('./types.cjs');
const { guess } = require('./values.cjs');

const plain = /^[A-Za-z_$][\w$]*$/;

function isClass(value) {
  return /^class[\s{]/.test(Function.prototype.toString.call(value));
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

function parameters(known, fn, types) {
  const body = Function.prototype.toString.call(fn);
  const told = known && known.params.length > 0 ? known.params : written(fn);
  return told.map((param) => {
    let type = { kind: 'any' };
    if (param.type) type = parse(param.type, types);
    else if (param.pattern) type = destructured(param.pattern);
    if (type.kind === 'any' || type.kind === 'named') type = param.pattern ? destructured(param.pattern) : guess(param, (known && known.body) || body);
    return { name: param.name, type, optional: Boolean(param.optional), rest: Boolean(param.rest) };
  });
}

function subjects(subject, plan) {
  const found = [];
  const types = plan.types;
  const add = (entry) => found.push(entry);
  const visit = (name, value, expression, depth) => {
    if (typeof value === 'function') {
      const own = value.name && plan.functions[value.name] ? value.name : name;
      if (isClass(value) || plan.classes[own]) {
        const known = plan.classes[own] || { methods: {} };
        add({ kind: 'class', name, expression, value, ...classOf(value, known, types) });
        for (const key of Object.getOwnPropertyNames(value)) {
          if (['length', 'name', 'prototype'].includes(key) || !plain.test(key) || typeof value[key] !== 'function') continue;
          add({ kind: 'function', name: `${name}.${key}`, expression: `${expression}.${key}`, params: parameters(known.methods[key], value[key], types) });
        }
      } else {
        add({ kind: 'function', name, expression, params: parameters(plan.functions[own], value, types) });
      }
    } else if (value && typeof value === 'object' && depth === 0 && !Array.isArray(value)) {
      for (const key of Object.keys(value).slice(0, 40)) {
        if (plain.test(key) && typeof value[key] === 'function') visit(`${name}.${key}`, value[key], `${expression}.${key}`, 1);
      }
    }
  };
  if (typeof subject === 'function') visit(plan.stem, subject, 'subject', 0);
  for (const name of Object.keys(subject)) {
    if (!plain.test(name) || name === '__esModule') continue;
    // What is exported by name is not tested again as a part of the default export.
    if (name === 'default' && Object.keys(subject).some((other) => other !== 'default' && subject[other] === subject.default)) continue;
    visit(name, subject[name], `subject.${name}`, 0);
  }
  return found;
}

function classOf(value, known, types) {
  const methods = [];
  const getters = [];
  const prototype = value.prototype || {};
  for (const key of Object.getOwnPropertyNames(prototype)) {
    if (key === 'constructor' || !plain.test(key) || key.startsWith('_')) continue;
    const property = Object.getOwnPropertyDescriptor(prototype, key);
    if (property.get) getters.push(key);
    else if (typeof property.value === 'function') methods.push({ name: key, params: parameters(known.methods[key], property.value, types) });
  }
  const text = Function.prototype.toString.call(value);
  const from = text.search(/\bconstructor\s*\(/);
  const constructed = known.constructor_ || null;
  const stand = { toString: () => text };
  const params = constructed || from < 0
    ? parameters(constructed, Object.assign(function none() {}, stand), types)
    : parameters(null, fnFromText(text.slice(from)), types);
  return { params: from < 0 && !constructed ? [] : params, methods, getters };
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
