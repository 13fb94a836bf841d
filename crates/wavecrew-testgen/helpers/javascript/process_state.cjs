// What the language itself gives, as it was before the code under test was loaded: code that replaces parts of it would take
// the search and the framework with it. Replaced parts are put back, and told.
'use strict';

const OWNERS = { Object, Function, Array, String, Number, Boolean, Symbol, Math, JSON, Map, Set, WeakMap, Promise, RegExp, Date, Reflect, Error };
const GLOBALS = ['setTimeout', 'clearTimeout', 'setImmediate', 'queueMicrotask', 'parseInt', 'parseFloat', 'structuredClone'];

const { defineProperty, getOwnPropertyDescriptor, getOwnPropertyNames } = Object;

function parts() {
  const found = [];
  const take = (owner, key, name) => {
    const property = getOwnPropertyDescriptor(owner, key);
    // The search itself gives other lots.
    if (property && property.configurable && name !== 'Math.random' && typeof property.value === 'function') found.push({ owner, key, name, property, value: property.value });
  };
  for (const [name, owner] of Object.entries(OWNERS)) {
    for (const key of getOwnPropertyNames(owner)) take(owner, key, `${name}.${key}`);
    if (owner.prototype) for (const key of getOwnPropertyNames(owner.prototype)) take(owner.prototype, key, `${name}.prototype.${key}`);
  }
  for (const key of GLOBALS) take(globalThis, key, key);
  return found;
}

// Answers a function that puts back what was replaced since, and names the first of it; null where nothing was.
function keep() {
  const known = parts();
  return () => {
    let first = null;
    for (let at = 0; at < known.length; at += 1) {
      const { owner, key, name, property, value } = known[at];
      if (owner[key] !== value) {
        defineProperty(owner, key, property);
        if (first === null) first = name;
      }
    }
    return first;
  };
}

module.exports = { keep };
