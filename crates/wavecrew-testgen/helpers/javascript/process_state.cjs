// Restores builtins that the code under test replaces: otherwise they would break the search and the framework.
'use strict';

const OWNERS = { Object, Function, Array, String, Number, Boolean, Symbol, Math, JSON, Map, Set, WeakMap, Promise, RegExp, Date, Reflect, Error };
const GLOBALS = ['setTimeout', 'clearTimeout', 'setImmediate', 'queueMicrotask', 'parseInt', 'parseFloat', 'structuredClone'];

const { defineProperty, getOwnPropertyDescriptor, getOwnPropertyNames } = Object;

function builtinFunctions() {
  const found = [];
  const add = (owner, key, name) => {
    const property = getOwnPropertyDescriptor(owner, key);
    // The search itself replaces Math.random.
    if (property && property.configurable && name !== 'Math.random' && typeof property.value === 'function') found.push({ owner, key, name, property, value: property.value });
  };
  for (const [name, owner] of Object.entries(OWNERS)) {
    for (const key of getOwnPropertyNames(owner)) add(owner, key, `${name}.${key}`);
    if (owner.prototype) for (const key of getOwnPropertyNames(owner.prototype)) add(owner.prototype, key, `${name}.prototype.${key}`);
  }
  for (const key of GLOBALS) add(globalThis, key, key);
  return found;
}

// Returns a function that restores what was replaced since, and returns the name of the first builtin or null.
function watchBuiltins() {
  const known = builtinFunctions();
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

const PROTOTYPES = { Object, Array, Function, String, Number, Boolean };

// Returns a function that removes what was added to the prototypes of builtins since, and returns it by name, or null.
function watchPrototypes() {
  const known = Object.entries(PROTOTYPES).map(([name, { prototype }]) => ({ name, prototype, names: new Set(getOwnPropertyNames(prototype)) }));
  return () => {
    let added = null;
    for (let at = 0; at < known.length; at += 1) {
      const { name, prototype, names } = known[at];
      const now = getOwnPropertyNames(prototype);
      if (now.length <= names.size) continue;
      for (const key of now) {
        if (names.has(key)) continue;
        added = added || [];
        added.push(`${name}.prototype.${key}`);
        delete prototype[key];
      }
    }
    return added;
  };
}

module.exports = { watchBuiltins, watchPrototypes };
