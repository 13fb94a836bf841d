// The targets of a module: functions, classes with their methods, and functions in exported objects.
'use strict';

const { addFactories, classOf, isClass, own } = require('./classes.cjs');
const { signature } = require('./parameters.cjs');

const plain = /^[A-Za-z_$][\w$]*$/;

// Whether an export is the same function as another one that has its own name, or comes first.
function isAlias(subject, name) {
  const value = subject[name];
  if (typeof value !== 'function') return false;
  const names = Object.keys(subject).filter((other) => plain.test(other) && other !== 'default' && subject[other] === value);
  return name !== (names.find((other) => other === value.name) || names[0]);
}

// An object that was written down, not an instance of a class.
function isTable(value) {
  if (!value || typeof value !== 'object') return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function findTargets(subject, plan) {
  const found = [];
  const add = (entry) => found.push(entry);
  const visit = (name, value, expression, depth, owner) => {
    if (typeof value === 'function') {
      // Known by its own name, by its export, or as the whole module.
      const names = [value.name, name.split('.').pop(), depth === 0 && ['default', plan.identifier].includes(name) ? 'exports' : ''];
      const aliases = [...new Set(names.filter((one) => plain.test(one) && one !== 'default' && one !== 'exports'))];
      const classKnown = names.map((word) => own(plan.classes, word)).find(Boolean);
      if (isClass(value) || classKnown) {
        const known = classKnown || { methods: {} };
        add({ kind: 'class', name, aliases, expression, value, ...classOf(value, known, plan, [...new Set([value.name, ...aliases, name])].filter(Boolean)) });
        for (const key of Object.getOwnPropertyNames(value)) {
          if (['length', 'name', 'prototype'].includes(key) || !plain.test(key) || typeof value[key] !== 'function') continue;
          add({ kind: 'function', name: `${name}.${key}`, aliases: [key], expression: `${expression}.${key}`, value: value[key], owner: value, key, ...signature(own(known.methods, key), value[key], plan) });
        }
      } else {
        const known = names.map((word) => own(plan.functions, word)).find(Boolean);
        add({ kind: 'function', name, aliases, expression, value, owner, key: owner && name.split('.').pop(), ...signature(known, value, plan) });
        // Functions that are properties of the exported function.
        if (depth === 0 && ['default', plan.identifier].includes(name)) members(name, value, expression);
      }
    } else if (value && typeof value === 'object' && depth === 0 && !Array.isArray(value)) members(name, value, expression);
  };
  const members = (name, value, expression, depth = 1) => {
    for (const key of Object.keys(value).slice(0, 40)) {
      if (!plain.test(key)) continue;
      const member = value[key];
      const twice = found.some((target) => target.value === member) || Object.values(subject).includes(member);
      if (typeof member === 'function' && !twice) visit(`${name}.${key}`, member, `${expression}.${key}`, depth, value);
      // Tables of functions, such as `convert.rgb.hsl`.
      if (isTable(member) && depth < 2) members(`${name}.${key}`, member, `${expression}.${key}`, depth + 1);
    }
  };
  if (typeof subject === 'function') visit(plan.identifier, subject, 'subject', 0);
  for (const name of Object.keys(subject)) {
    if (!plain.test(name) || name === '__esModule') continue;
    // A named export is not tested again through the default export.
    if (name === 'default' && Object.keys(subject).some((other) => other !== 'default' && subject[other] === subject.default)) continue;
    if (name !== 'default' && isAlias(subject, name)) continue;
    visit(name, subject[name], `subject.${name}`, 0);
  }
  addFactories(found);
  return found.map((target) => ({ examples: [], statedResults: [], ...target }));
}

module.exports = { findTargets };
