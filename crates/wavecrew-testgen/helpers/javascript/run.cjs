// Does one call and says what could be seen of it.
'use strict';

const vm = require('node:vm');
const { Forbidden } = require('./sandbox.cjs');
const { literal, isPlain } = require('./literals.cjs');

const CALL_MS = 100;
const PROMISE_MS = 300;
const BATCH_MS = 150;
const MOST_MS = 1500;
const ENDLESS_MS = 1000;
// More than this in one call, and it is not given more time.
const GREW_MB = 60;

// Runs a synchronous function that may never end. To watch costs a thread, so that many calls share one.
const ring = vm.createContext({ call: null });
const caller = new vm.Script('call()');
function timed(call, milliseconds = CALL_MS) {
  for (let limit = milliseconds; ; limit *= 4) {
    const began = used();
    const had = process.memoryUsage.rss();
    ring.call = call;
    try {
      return caller.runInContext(ring, { timeout: limit });
    } catch (error) {
      // Where others have the processor, the clock says nothing about the call.
      const starved = error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' && used() - began < milliseconds * 0.8;
      const grew = Math.round((process.memoryUsage.rss() - had) / 1e6);
      if (grew > GREW_MB) throw Object.assign(error, { grew });
      if (!starved || limit > MOST_MS) throw error;
    }
  }
}

// Milliseconds of processor time so far.
function used() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function settled(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error('it does not settle'), { late: true })), PROMISE_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function isPromise(value) {
  return Boolean(value) && typeof value === 'object' && typeof value.then === 'function';
}

function isIterator(value) {
  return Boolean(value) && typeof value === 'object' && typeof value.next === 'function' && typeof value[Symbol.iterator] === 'function';
}

// What came back, as far as a test can say it.
function seen(value) {
  if (typeof value === 'function') return { kind: 'type', text: 'function' };
  if (isIterator(value)) {
    const items = [];
    for (const item of value) {
      items.push(item);
      if (items.length > 20) return null;
    }
    const text = literal(items);
    return text === null ? null : { kind: 'items', text };
  }
  const text = literal(value);
  if (text !== null) {
    const float = typeof value === 'number' && Number.isFinite(value) && !Number.isInteger(value);
    return { kind: 'value', text, float, object: typeof value === 'object' && value !== null };
  }
  if (value && typeof value === 'object' && !isPlain(value) && !Array.isArray(value)) {
    const fields = {};
    for (const key of Object.keys(value)) {
      if (literal(value[key]) !== null) fields[key] = value[key];
    }
    const shown = literal(fields);
    if (shown !== null && shown !== '{}') return { kind: 'fields', text: shown };
    return { kind: 'instance', text: (value.constructor && value.constructor.name) || 'Object' };
  }
  return null;
}

function thrown(error) {
  if (error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return { kind: 'hangs', grew: error.grew };
  if (error && error.late) return { kind: 'forbidden', text: `waits for longer than ${PROMISE_MS} ms` };
  if (error instanceof Unmade) return null;
  if (error instanceof Forbidden) return { kind: 'forbidden', text: error.message };
  if (error instanceof RangeError && /call stack/i.test(error.message)) return { kind: 'overflows' };
  if (!error || typeof error !== 'object' || typeof error.message !== 'string') {
    const text = literal(error);
    return text === null ? null : { kind: 'throws', name: null, message: text };
  }
  return { kind: 'throws', name: error.name || 'Error', message: error.message };
}

// Values of sources that tests hold. Compiled texts are kept: the same arguments come again and again.
class Evaluator {
  // `mended` puts back what calls replaced of the language, and names it.
  constructor(subject, mended) {
    this.subject = subject;
    this.mended = mended;
    this.compiled = new Map();
  }

  of(sources) {
    const source = sources.join(', ');
    let make = this.compiled.get(source);
    if (make === undefined) {
      if (this.compiled.size > 20000) this.compiled.clear();
      make = new Function('subject', `return [${source}];`);
      this.compiled.set(source, make);
    }
    return make(this.subject);
  }
}

// A new object: by its constructor, or by a function that makes one.
function build({ target, args, via }, evaluator) {
  const given = evaluator.of(args);
  if (!via) return new target.value(...given);
  const made = via.owner ? via.owner[via.key](...given) : via.value(...given);
  if (!(made instanceof target.value)) throw new Unmade();
  return made;
}

class Unmade extends Error {}

// Takes one step on an object and answers what comes back.
function step(made, { how, name, args }, evaluator) {
  if (how === 'spread') return [...made];
  const given = evaluator.of(args);
  if (how === 'set') {
    [made[name]] = given;
    return undefined;
  }
  return made[name](...given);
}

function effects(values, before) {
  const found = [];
  values.forEach((value, index) => {
    const after = before[index] === null ? null : literal(value);
    if (after !== null && after !== before[index]) found.push({ index, text: after });
  });
  return found;
}

// A call of a function without its watch; a promise is answered as it is.
function plainly(call, evaluator) {
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
    const outcome = { steps: [], effects: effects(values, before), getters: [], async: false, result: seen(result) };
    return outcome.result === null ? null : outcome;
  } catch (error) {
    const result = thrown(error);
    if (result && result.kind === 'hangs') throw error;
    return result === null ? null : { steps: [], effects: [], getters: [], async: false, result };
  }
}

// A sequence of calls on an object, without its watch; a promise cannot be waited for here.
function driven(call, evaluator) {
  const { target, steps } = call;
  const outcome = { steps: [], effects: [], getters: [] };
  const failed = (error) => {
    const result = thrown(error);
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
      entry = { async: false, result: result === made ? { kind: 'self' } : seen(result) };
    } catch (error) {
      entry = { result: failed(error) };
    }
    if (!entry.result || ['forbidden', 'overflows'].includes(entry.result.kind)) return { result: entry.result };
    outcome.steps.push(entry);
    if (entry.result.kind === 'throws') break;
  }
  observe(target, made, outcome);
  return outcome;
}

function observe(target, made, outcome) {
  for (const name of target.getters) {
    try {
      const value = seen(made[name]);
      if (value && value.kind === 'value') outcome.getters.push({ name, result: value });
    } catch {
      // A getter that fails says nothing about the steps.
    }
  }
  const fields = seen(made);
  outcome.result = fields && fields.kind === 'fields' ? fields : { kind: 'instance', text: target.name };
}

// The same for calls that promise something.
async function waited(call, evaluator) {
  const { target, args, steps } = call;
  const outcome = { steps: [], effects: [], getters: [], async: false };
  try {
    const values = evaluator.of(args);
    if (target.kind === 'function') {
      const before = values.map((value) => (value && typeof value === 'object' ? literal(value) : null));
      const result = timed(() => (target.owner ? target.owner[target.key](...values) : target.value(...values)));
      outcome.async = isPromise(result);
      outcome.result = seen(await settled(result));
      outcome.effects = effects(values, before);
      return outcome.result === null ? null : outcome;
    }
    const made = timed(() => build(call, evaluator));
    for (const each of steps) {
      let entry;
      let promised = false;
      try {
        let result = timed(() => step(made, each, evaluator));
        promised = isPromise(result);
        if (promised) result = await settled(result);
        entry = { async: promised, result: result === made ? { kind: 'self' } : seen(result) };
      } catch (error) {
        entry = { async: promised, result: thrown(error) };
      }
      if (!entry.result || ['hangs', 'forbidden', 'overflows'].includes(entry.result.kind)) return { result: entry.result };
      outcome.steps.push(entry);
      if (entry.result.kind === 'throws') break;
    }
    timed(() => observe(target, made, outcome));
    return outcome;
  } catch (error) {
    outcome.result = thrown(error);
    outcome.async = outcome.async || Boolean(target.promises);
    return outcome.result === null ? null : outcome;
  }
}

function direct(call, evaluator) {
  let outcome = null;
  try {
    outcome = call.target.kind === 'function' ? plainly(call, evaluator) : driven(call, evaluator);
  } finally {
    const changed = evaluator.mended();
    if (changed !== null) outcome = { steps: [], effects: [], getters: [], result: { kind: 'forbidden', text: `the code changes ${changed}` } };
  }
  return outcome;
}

// A call that is known to end, without a watch.
async function again(call, evaluator) {
  return call.target.promises ? waited(call, evaluator) : direct(call, evaluator);
}

// One call, watched.
async function once(call, evaluator) {
  if (call.target.promises) return waited(call, evaluator);
  try {
    const outcome = timed(() => direct(call, evaluator));
    if (outcome && outcome.promise) {
      call.target.promises = true;
      outcome.promise.then(() => {}, () => {});
      return await waited(call, evaluator);
    }
    return outcome;
  } catch (error) {
    const result = thrown(error);
    return result === null ? null : { steps: [], effects: [], getters: [], result };
  }
}

// Many calls under one watch. Answers their outcomes; where one did not end in time, those before it.
function many(calls, evaluator, before, after = () => {}) {
  const outcomes = [];
  try {
    timed(() => {
      for (const call of calls.slice(outcomes.length)) {
        before(call);
        const outcome = direct(call, evaluator);
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

// Whether a call goes on and on with much more time, too.
function endless(call, evaluator) {
  try {
    timed(() => direct(call, evaluator), ENDLESS_MS);
    return false;
  } catch (error) {
    return error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
  }
}

module.exports = { Evaluator, again, direct, endless, many, once, settled, timed, used, ENDLESS_MS };
