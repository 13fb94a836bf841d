// Existing tests of the project: the search ignores what they already reach and kill.
'use strict';

const { awaitSettled, withTimeout } = require('./run.cjs');

const MAX_TESTS = 400;

// Tests that passed in vitest before the search.
function passedInVitest(file, own, { getFn, getHooks }) {
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
  return found.slice(0, MAX_TESTS);
}

// Records the tests that `load` declares, by replacing the framework's functions.
function recordTests(globals, load) {
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
  const fakes = { test: Object.assign(test, { each: each(test), only: test, skip: none, todo: none, concurrent: test, failing: none }) };
  fakes.it = fakes.test;
  fakes.describe = Object.assign(group, { each: each(group), only: group, skip: none });
  fakes.beforeEach = (fn) => around[around.length - 1].before.push(fn);
  fakes.afterEach = (fn) => around[around.length - 1].after.push(fn);
  const real = {};
  for (const [word, fake] of Object.entries(fakes)) {
    real[word] = globals[word];
    globals[word] = fake;
  }
  try {
    load();
  } finally {
    Object.assign(globals, real);
  }
  return found.slice(0, MAX_TESTS);
}

// Runs a test and returns whether it passes.
async function passes({ steps }) {
  try {
    for (const step of steps) await awaitSettled(withTimeout(() => step()));
    return true;
  } catch {
    return false;
  }
}

module.exports = { passedInVitest, passes, recordTests };
