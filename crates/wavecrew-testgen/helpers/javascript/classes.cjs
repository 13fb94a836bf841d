// What a class offers: constructor, factories, methods, properties and iteration.
'use strict';

const { parameters, signature } = require('./parameters.cjs');

const plain = /^[A-Za-z_$][\w$]*$/;

// Declared with `class`, or a constructor function with methods.
function isClass(value) {
  if (/^class[\s{]/.test(Function.prototype.toString.call(value))) return true;
  return Boolean(value.prototype) && Object.getOwnPropertyNames(value.prototype).length > 1;
}

// Ignores inherited names such as `toString`.
function own(table, name) {
  return table && Object.hasOwn(table, name) ? table[name] : undefined;
}

// The module's own prototypes, nearest first, without those of the language.
function ancestry(value) {
  const found = [];
  for (let at = value.prototype; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    // A prototype that was written down as an object inherits the constructor of all objects.
    if (Object.hasOwn(at, 'constructor') && /\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(at.constructor))) break;
    found.push(at);
  }
  return found;
}

// Names and members of a class, to recognise parameters that take another object of it.
function selfOf(value, names) {
  const members = new Set();
  for (const prototype of ancestry(value)) for (const key of Object.getOwnPropertyNames(prototype)) if (key !== 'constructor') members.add(key);
  for (const match of Function.prototype.toString.call(value).matchAll(/\bthis\.([A-Za-z_$][\w$]*)/g)) members.add(match[1]);
  return { names, members };
}

function classOf(value, known, plan, names) {
  const self = selfOf(value, names);
  const steps = [];
  const getters = [];
  const taken = new Set(['constructor']);
  for (const prototype of ancestry(value)) {
    for (const key of Object.getOwnPropertyNames(prototype)) {
      if (taken.has(key) || !plain.test(key) || key.startsWith('_')) continue;
      taken.add(key);
      const property = Object.getOwnPropertyDescriptor(prototype, key);
      if (property.get) getters.push(key);
      if (property.set) steps.push({ how: 'set', name: key, params: parameters(null, property.set, plan, self) });
      if (typeof property.value === 'function') steps.push({ how: 'call', name: key, ...signature(own(known.methods, key), property.value, plan, self) });
    }
    if (Object.hasOwn(prototype, Symbol.iterator) && !steps.some((step) => step.how === 'spread')) steps.push({ how: 'spread', name: 'iterator', params: [] });
  }
  const text = Function.prototype.toString.call(value);
  const from = text.search(/\bconstructor\s*\(/);
  const made = known.constructor_ || null;
  let params = [];
  if (made) params = made.params.length > 0 ? parameters(made, value, plan, self) : [];
  else if (from >= 0) params = parameters(null, fnFromText(text.slice(from)), plan, self);
  else if (!text.startsWith('class')) params = parameters(null, value, plan, self);
  return { params, steps, getters, line: made ? made.line : 0 };
}

// A function with the parameter list that a text starts with.
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

// Adds to each class its factories: static methods and functions of the module that construct it.
function addFactories(found) {
  for (const target of found.filter((one) => one.kind === 'class')) {
    const names = [target.value.name, ...target.aliases].filter(Boolean).join('|') || 'this';
    const makes = new RegExp(`\\bnew\\s+(?:this|${names.replace(/\$/g, '\\$')})\\b`);
    const isOf = (one) => one.kind === 'function' && (one.owner === target.value || !one.owner);
    target.factories = found.filter((one) => isOf(one) && makes.test(Function.prototype.toString.call(one.value)))
      .map(({ name, expression, value, owner, key, params }) => ({ name, expression, value, owner, key, params }));
  }
}

module.exports = { addFactories, classOf, isClass, own };
