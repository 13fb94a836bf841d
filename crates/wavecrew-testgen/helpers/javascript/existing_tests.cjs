// Tests of the project that are there already: what they reach and notice is not looked for again.
'use strict';

const { settled, timed } = require('./run.cjs');

const MOST = 400;

// Those that vitest has run before the search, as they passed. `lookup` gives the function of a test and the hooks around it.
function ofVitest(file, own, { getFn, getHooks }) {
  const found = [];
  const visit = (suite, before, after) => {
    const hooks = (getHooks && getHooks(suite)) || {};
    const first = [...before, ...(hooks.beforeEach || [])];
    const last = [...(hooks.afterEach || []), ...after];
    for (const task of suite.tasks || []) {
      if (task.type === 'suite') visit(task, first, last);
      else if (task !== own && task.result && task.result.state === 'pass' && getFn(task)) found.push({ name: task.name, steps: [...first, getFn(task), ...last] });
    }
  };
  visit(file, [], []);
  return found.slice(0, MOST);
}

// What is declared while `load` runs, in place of the framework's own words.
function recorded(world, load) {
  const found = [];
  const around = [{ before: [], after: [] }];
  const test = (name, fn) => {
    if (typeof fn !== 'function' || fn.length > 0) return;
    const scopes = [...around];
    found.push({ name: String(name), get steps() {
      return [...scopes.flatMap((scope) => scope.before), fn, ...scopes.flatMap((scope) => scope.after).reverse()];
    } });
  };
  const group = (name, fn) => {
    around.push({ before: [], after: [] });
    try {
      fn();
    } finally {
      around.pop();
    }
  };
  const none = () => {};
  const each = (one) => (table) => (name, fn) => {
    if (!Array.isArray(table) || Object.hasOwn(table, 'raw')) return;
    for (const row of table) one(name, () => (Array.isArray(row) ? fn(...row) : fn(row)));
  };
  const words = { test: Object.assign(test, { each: each(test), only: test, skip: none, todo: none, concurrent: test, failing: none }) };
  words.it = words.test;
  words.describe = Object.assign(group, { each: each(group), only: group, skip: none });
  words.beforeEach = (fn) => around[around.length - 1].before.push(fn);
  words.afterEach = (fn) => around[around.length - 1].after.push(fn);
  const real = {};
  for (const [word, fake] of Object.entries(words)) {
    real[word] = world[word];
    world[word] = fake;
  }
  try {
    load();
  } finally {
    Object.assign(world, real);
  }
  return found.slice(0, MOST);
}

// Runs a test as it is; whether it passes.
async function passes({ steps }) {
  try {
    for (const step of steps) await settled(timed(() => step()));
    return true;
  } catch {
    return false;
  }
}

module.exports = { ofVitest, passes, recorded };
