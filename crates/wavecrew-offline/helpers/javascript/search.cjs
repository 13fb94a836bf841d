// Looks for calls that reach the code and tell its behaviours apart. Runs inside the project's own test framework, so that
// modules load as they do in its tests.
'use strict';

const fs = require('node:fs');
const vm = require('node:vm');
const { Cover } = require('./cover.cjs');
const { Forbidden, guard } = require('./guard.cjs');
const { literal, isPlain } = require('./literal.cjs');
const { lots } = require('./lots.cjs');
const { render } = require('./render.cjs');
const { subjects } = require('./subjects.cjs');
const { Values } = require('./values.cjs');

const CALL_MS = 100;
const MOST_CASES = 24;
const PER_PATH = 4;
const LONGEST = 160;

// Runs a synchronous function that may never end.
const ring = vm.createContext({ call: null });
const caller = new vm.Script('call()');
function timed(call) {
  ring.call = call;
  return caller.runInContext(ring, { timeout: CALL_MS });
}

async function settled(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error('it does not settle'), { late: true })), CALL_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

// What came back, as far as a test can say it.
function seen(value) {
  if (typeof value === 'function') return { kind: 'type', text: 'function' };
  if (value && typeof value === 'object' && typeof value.next === 'function' && typeof value[Symbol.iterator] === 'function') {
    const items = [];
    for (const item of value) {
      items.push(item);
      if (items.length > 20) return null;
    }
    const text = literal(items);
    return text === null ? null : { kind: 'items', text };
  }
  const text = literal(value);
  if (text !== null) return { kind: 'value', text, float: typeof value === 'number' && Number.isFinite(value) && !Number.isInteger(value), object: typeof value === 'object' && value !== null };
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
  if (error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return { kind: 'hangs' };
  if (error && error.late) return { kind: 'hangs' };
  if (error instanceof Forbidden) return { kind: 'forbidden', text: error.message };
  if (error instanceof RangeError && /call stack/i.test(error.message)) return { kind: 'overflows' };
  if (!error || typeof error !== 'object' || typeof error.message !== 'string') {
    const text = literal(error);
    return text === null ? null : { kind: 'throws', name: null, message: text };
  }
  return { kind: 'throws', name: error.name || 'Error', message: error.message };
}

class Search {
  constructor(subject, plan) {
    this.subject = subject;
    this.plan = plan;
    this.random = lots(plan.seed);
    this.found = subjects(subject, plan);
    this.values = new Values(this.random, plan.constants, (name, depth) => this.instance(name, depth));
    this.cover = new Cover(plan.file);
    this.cover.clear();
    this.skip = new Set(plan.skip);
    this.calls = 0;
    this.left = new Map();
    this.cases = new Map(this.found.map((target) => [target.name, []]));
    this.paths = new Map();
    this.defects = [];
  }

  instance(name, depth) {
    const target = this.found.find((found) => found.kind === 'class' && found.name === name);
    if (!target || depth > 2) return null;
    return `new ${target.expression}(${this.args(target.params, depth + 1).join(', ')})`;
  }

  args(params, depth = 0) {
    const args = [];
    for (const param of params) {
      if (param.optional && this.random.oneIn(3)) break;
      if (param.rest) {
        const of = param.type.kind === 'array' ? param.type.of : param.type;
        for (let n = this.random.below(4); n > 0; n -= 1) args.push(this.values.of(of, depth));
      } else args.push(this.values.of(param.type, depth));
    }
    return args;
  }

  // A call as data: what is built first, what is done to it, and what is looked at.
  call(target) {
    const known = this.cases.get(target.name);
    if (target.kind === 'function') {
      if (known.length > 0 && this.random.oneIn(3)) {
        const base = this.random.pick(known);
        const args = [...base.args];
        if (args.length > 0) {
          const at = this.random.below(args.length);
          const param = target.params[Math.min(at, target.params.length - 1)];
          args[at] = this.values.vary(args[at], param ? param.type : { kind: 'any' });
        }
        return { target, args, steps: [] };
      }
      return { target, args: this.args(target.params), steps: [] };
    }
    const args = this.args(target.params);
    const steps = [];
    const many = target.methods.length > 0 ? 1 + this.random.below(4) : 0;
    for (let n = 0; n < many; n += 1) {
      const method = this.random.pick(target.methods);
      steps.push({ name: method.name, args: this.args(method.params) });
    }
    return { target, args, steps };
  }

  text(call) {
    const { target, args, steps } = call;
    const list = args.join(', ');
    if (target.kind === 'function') return `${target.expression}(${list})`;
    return [`new ${target.expression}(${list})`, ...steps.map((step) => `.${step.name}(${step.args.join(', ')})`)].join(' ');
  }

  evaluate(source) {
    return new Function('subject', `return [${source}];`)(this.subject);
  }

  // Does a call once and says what could be seen of it.
  async once(call) {
    const { target, args, steps } = call;
    const outcome = { steps: [], effects: [], getters: [] };
    let values;
    try {
      values = this.evaluate(args.join(', '));
    } catch {
      return null;
    }
    const before = values.map(literal);
    try {
      if (target.kind === 'function') {
        const owner = this.evaluate(target.expression.replace(/\.[^.]+$/, ''))[0];
        const name = target.expression.includes('.') ? target.expression.split('.').pop() : null;
        let result = timed(() => (name ? owner[name](...values) : owner(...values)));
        const isPromise = result && typeof result.then === 'function';
        if (isPromise) result = await settled(result);
        outcome.async = isPromise;
        outcome.result = seen(result);
        if (outcome.result === null) return null;
        values.forEach((value, index) => {
          const after = literal(value);
          if (before[index] !== null && after !== null && after !== before[index]) outcome.effects.push({ index, text: after });
        });
        return outcome;
      }
      const made = timed(() => new target.value(...values));
      for (const step of steps) {
        const given = this.evaluate(step.args.join(', '));
        let entry;
        try {
          let result = timed(() => made[step.name](...given));
          const isPromise = result && typeof result.then === 'function';
          if (isPromise) result = await settled(result);
          entry = { async: isPromise, result: result === made ? { kind: 'self' } : seen(result) };
        } catch (error) {
          entry = { result: thrown(error) };
        }
        outcome.steps.push(entry);
        if (!entry.result || entry.result.kind === 'hangs' || entry.result.kind === 'forbidden') return { result: entry.result };
        if (entry.result.kind === 'throws') break;
      }
      for (const name of target.getters) {
        const value = seen(timed(() => made[name]));
        if (value && value.kind === 'value') outcome.getters.push({ name, result: value });
      }
      const fields = seen(made);
      outcome.result = fields && fields.kind === 'fields' ? fields : { kind: 'instance', text: target.name };
      return outcome;
    } catch (error) {
      outcome.result = thrown(error);
      return outcome.result === null ? null : outcome;
    }
  }

  // The same again with another clock, other lots and another time zone: what differs cannot be asserted.
  async stable(call, first) {
    const { random } = Math;
    const { now } = Date;
    const zone = process.env.TZ;
    const RealDate = Date;
    const expected = JSON.stringify(first);
    try {
      Math.random = () => 0.123456;
      Date.now = () => now() + 86400000 * 40;
      process.env.TZ = 'Asia/Tokyo';
      const again = await this.once(call);
      if (JSON.stringify(again) !== expected) return false;
    } finally {
      Math.random = random;
      RealDate.now = now;
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
    return JSON.stringify(await this.once(call)) === expected;
  }

  leave(what, why) {
    if (!this.left.has(what)) this.left.set(what, why);
  }

  async attempt(target) {
    const call = this.call(target);
    const text = this.text(call);
    if (this.skip.has(text)) return;
    fs.writeSync(this.plan.trail, `${text.replace(/\n/g, ' ')}\n`, 0);
    this.calls += 1;
    const outcome = await this.once(call);
    const { path, news } = this.cover.look();
    if (outcome === null || !outcome.result) return;
    if (outcome.result.kind === 'hangs') {
      target.hung = (target.hung || 0) + 1;
      if (!this.defects.some((defect) => defect.name === target.name)) {
        this.defects.push({ name: target.name, kind: 'does not end', call: text, what: `no answer after ${CALL_MS} ms` });
      }
      return;
    }
    if (outcome.result.kind === 'forbidden') {
      this.leave(target.name, outcome.result.text);
      target.forbidden = (target.forbidden || 0) + 1;
      return;
    }
    if (outcome.result.kind === 'overflows') return;
    const key = `${target.name}\n${path}`;
    const alike = this.paths.get(key) || [];
    const word = JSON.stringify(outcome);
    if (!news && (alike.length >= PER_PATH || alike.includes(word))) return;
    const failed = outcome.result.kind === 'throws';
    // One way to fail is shown once per path.
    if (!news && failed && alike.length > 0) return;
    const known = this.cases.get(target.name);
    if (!news && known.length >= MOST_CASES) return;
    if (text.length > (news ? 3 : 1) * LONGEST) return;
    const stable = await this.stable(call, outcome);
    this.cover.clear();
    if (!stable) {
      this.leave(target.name, 'comes out differently each time for some inputs');
      return;
    }
    alike.push(word);
    this.paths.set(key, alike);
    known.push({ ...call, text, outcome, news });
  }

  async run() {
    const open = guard();
    try {
      const until = Date.now() + this.plan.budget;
      const quiet = Math.max(400, 120 * this.found.length);
      let since = 0;
      let kept = 0;
      while (Date.now() < until && since < quiet * 12 && this.found.length > 0) {
        const target = this.found[this.calls % this.found.length];
        // What hangs is tried less and less; what is forbidden, not again.
        if ((target.forbidden || 0) > 20 || (target.hung > 1 && !this.random.oneIn(4 * target.hung))) {
          this.calls += 1;
          since += 1;
          continue;
        }
        await this.attempt(target);
        const now = [...this.cases.values()].reduce((sum, list) => sum + list.length, 0);
        since = now > kept ? 0 : since + 1;
        kept = now;
      }
    } finally {
      open();
      this.cover.stop();
    }
    return render(this);
  }
}

async function search(subject, plan) {
  const trail = fs.openSync(plan.trailFile, 'w');
  const finder = new Search(subject, { ...plan, trail });
  const result = await finder.run();
  fs.writeFileSync(plan.out, JSON.stringify(result));
}

module.exports = { search };
