// Runs calls, with and without a timeout, and returns what could be observed.
'use strict';

const vm = require('node:vm');
const { literal } = require('./literals.cjs');
const { NotConstructed, PROMISE_MS, effects, isPromise, observe, observeError, observeObject } = require('./observe.cjs');

const CALL_MS = 100;
const BATCH_MS = 150;
const MAX_MS = 1500;
const ENDLESS_MS = 1000;
// How long a call on a busy machine may wait for its processor time before it counts as endless.
const ENDLESS_MAX_MS = 60000;
// A call that allocates more than this gets no more time.
const GREW_MB = 60;

// Runs a synchronous function that may never end. A timeout costs a thread, so many calls share one.
const context = vm.createContext({ call: null });
const caller = new vm.Script('call()');
function withTimeout(call, milliseconds = CALL_MS, most = MAX_MS) {
  for (let limit = milliseconds; ; limit *= 4) {
    const began = cpuTime();
    const had = process.memoryUsage.rss();
    context.call = call;
    try {
      return caller.runInContext(context, { timeout: limit });
    } catch (error) {
      forgetUnloaded();
      // On a busy machine, wall time says nothing about the call.
      const starved = error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' && cpuTime() - began < milliseconds * 0.8;
      const grew = Math.round((process.memoryUsage.rss() - had) / 1e6);
      if (grew > GREW_MB) throw Object.assign(error, { grew });
      if (!starved || limit > most) throw error;
    }
  }
}

// Forgets modules that were being loaded when time was up: the engine ran no code that does it.
function forgetUnloaded() {
  for (const [path, module] of Object.entries(require.cache)) if (!module.loaded) delete require.cache[path];
}

// Processor time of this process in milliseconds.
function cpuTime() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function awaitSettled(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error('does not settle'), { late: true })), PROMISE_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

// Evaluates source text. Keeps what it compiled, because the same arguments recur.
class Evaluator {
  // `restoreBuiltins` restores builtins that a call replaced and returns the name of the first. `modules` has the functions
  // that load other modules, if sources may do so.
  constructor(subject, restoreBuiltins, modules = {}) {
    this.subject = subject;
    this.modules = modules;
    this.restoreBuiltins = restoreBuiltins;
    this.compiled = new Map();
  }

  of(sources) {
    const source = sources.join(', ');
    let make = this.compiled.get(source);
    if (make === undefined) {
      if (this.compiled.size > 20000) this.compiled.clear();
      make = new Function('subject', 'load', 'require', `return [${source}];`);
      this.compiled.set(source, make);
    }
    return make(this.subject, this.modules.load, this.modules.require);
  }
}

// A new object, from its constructor or a factory.
function build({ target, args, factory }, evaluator) {
  const given = evaluator.of(args);
  if (!factory) return new target.value(...given);
  const made = factory.owner ? factory.owner[factory.key](...given) : factory.value(...given);
  if (!(made instanceof target.value)) throw new NotConstructed();
  return made;
}

// Performs one step on an object and returns its result.
function step(made, { how, name, args }, evaluator) {
  if (how === 'spread') return [...made];
  const given = evaluator.of(args);
  if (how === 'set') {
    [made[name]] = given;
    return undefined;
  }
  return made[name](...given);
}

// Calls a function without a timeout. A promise is returned as it is.
function callFunction(call, evaluator) {
  const { target, args } = call;
  let values;
  try {
    values = evaluator.of(args);
  } catch {
    return null;
  }
  const before = values.map((value) => (value && typeof value === 'object' ? literal(value) : null));
  try {
    const result = target.owner ? target.owner[target.key](...values) : target.value(...values);
    if (isPromise(result)) return { promise: result };
    const outcome = { steps: [], effects: effects(values, before), getters: [], async: false, result: observe(result) };
    return outcome.result === null ? null : outcome;
  } catch (error) {
    const result = observeError(error);
    if (result && result.kind === 'hangs') throw error;
    return result === null ? null : { steps: [], effects: [], getters: [], async: false, result };
  }
}

// Calls methods of a new object without a timeout. A promise cannot be awaited here.
function callMethods(call, evaluator) {
  const { target, steps } = call;
  const outcome = { steps: [], effects: [], getters: [] };
  const failed = (error) => {
    const result = observeError(error);
    if (result && result.kind === 'hangs') throw error;
    return result;
  };
  let made;
  try {
    made = build(call, evaluator);
  } catch (error) {
    outcome.result = failed(error);
    return outcome.result === null ? null : outcome;
  }
  for (const each of steps) {
    let entry;
    try {
      const result = step(made, each, evaluator);
      if (isPromise(result)) return { promise: result };
      entry = { async: false, result: result === made ? { kind: 'self' } : observe(result) };
    } catch (error) {
      entry = { result: failed(error) };
    }
    if (!entry.result || ['forbidden', 'overflows'].includes(entry.result.kind)) return { result: entry.result };
    outcome.steps.push(entry);
    if (entry.result.kind === 'throws') break;
  }
  observeObject(target, made, outcome);
  return outcome;
}

// The same for calls that return promises.
async function callAsync(call, evaluator) {
  const { target, args, steps } = call;
  const outcome = { steps: [], effects: [], getters: [], async: false };
  try {
    const values = evaluator.of(args);
    if (target.kind === 'function') {
      const before = values.map((value) => (value && typeof value === 'object' ? literal(value) : null));
      const result = withTimeout(() => (target.owner ? target.owner[target.key](...values) : target.value(...values)));
      outcome.async = isPromise(result);
      outcome.result = observe(await awaitSettled(result));
      outcome.effects = effects(values, before);
      return outcome.result === null ? null : outcome;
    }
    const made = withTimeout(() => build(call, evaluator));
    for (const each of steps) {
      let entry;
      let promised = false;
      try {
        let result = withTimeout(() => step(made, each, evaluator));
        promised = isPromise(result);
        if (promised) result = await awaitSettled(result);
        entry = { async: promised, result: result === made ? { kind: 'self' } : observe(result) };
      } catch (error) {
        entry = { async: promised, result: observeError(error) };
      }
      if (!entry.result || ['hangs', 'forbidden', 'overflows'].includes(entry.result.kind)) return { result: entry.result };
      outcome.steps.push(entry);
      if (entry.result.kind === 'throws') break;
    }
    withTimeout(() => observeObject(target, made, outcome));
    return outcome;
  } catch (error) {
    outcome.result = observeError(error);
    outcome.async = outcome.async || Boolean(target.promises);
    return outcome.result === null ? null : outcome;
  }
}

function runUnwatched(call, evaluator) {
  let outcome = null;
  try {
    outcome = call.target.kind === 'function' ? callFunction(call, evaluator) : callMethods(call, evaluator);
  } finally {
    const changed = evaluator.restoreBuiltins();
    if (changed !== null) outcome = { steps: [], effects: [], getters: [], result: { kind: 'forbidden', text: `the code changes ${changed}` } };
  }
  return outcome;
}

// Repeats a call that is known to end.
async function rerun(call, evaluator) {
  return call.target.promises ? callAsync(call, evaluator) : runUnwatched(call, evaluator);
}

// Runs one call with a timeout.
async function runWatched(call, evaluator) {
  if (call.target.promises) return callAsync(call, evaluator);
  try {
    const outcome = withTimeout(() => runUnwatched(call, evaluator));
    if (outcome && outcome.promise) {
      call.target.promises = true;
      outcome.promise.then(() => {}, () => {});
      return await callAsync(call, evaluator);
    }
    return outcome;
  } catch (error) {
    const result = observeError(error);
    return result === null ? null : { steps: [], effects: [], getters: [], result };
  }
}

// Runs calls under one timeout. Returns their outcomes; when one times out, those before it.
function runBatch(calls, evaluator, before, after = () => {}) {
  const outcomes = [];
  try {
    withTimeout(() => {
      for (const call of calls.slice(outcomes.length)) {
        before(call);
        const outcome = runUnwatched(call, evaluator);
        if (outcome && outcome.promise) {
          call.target.promises = true;
          outcome.promise.then(() => {}, () => {});
        }
        after(call);
        outcomes.push(outcome);
      }
    }, BATCH_MS);
  } catch (error) {
    if (error.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
  }
  return outcomes;
}

// Whether a call does not end with much more time either.
function isEndless(call, evaluator) {
  try {
    withTimeout(() => runUnwatched(call, evaluator), ENDLESS_MS, ENDLESS_MAX_MS);
    return false;
  } catch (error) {
    return error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
  }
}

module.exports = { ENDLESS_MS, Evaluator, awaitSettled, cpuTime, isEndless, rerun, runBatch, runUnwatched, runWatched, withTimeout };
