// Generates calls: new ones, variants of kept ones, and simpler ones.
'use strict';

const { parts } = require('./snippet_parts.cjs');
const { simpler } = require('./simplify.cjs');

const MAX_STEPS = 6;

class CallGenerator {
  constructor(random, values, targets) {
    this.random = random;
    this.values = values;
    this.targets = targets;
    // Constructor arguments that worked, by class.
    this.workingArgs = new Map();
  }

  remember(call) {
    if (call.target.kind !== 'class') return;
    const known = this.workingArgs.get(call.target.name) || [];
    if (known.length < 20 && !call.factory) known.push(call.args);
    this.workingArgs.set(call.target.name, known);
  }

  instance(name, depth) {
    const target = this.targets.find((one) => one.kind === 'class' && (one.name === name || one.value.name === name));
    if (!target || depth > 2) return null;
    const known = this.workingArgs.get(target.name);
    const args = known && !this.random.oneIn(3) ? this.random.pick(known) : this.args(target.params, depth + 1);
    return `new ${target.expression}(${args.join(', ')})`;
  }

  // Arguments for parameters. `recent` are values that the same call uses already.
  args(params, depth = 0, recent = []) {
    const { random } = this;
    const args = [];
    for (const param of params) {
      if (param.optional && random.oneIn(3)) break;
      if (param.rest) {
        const of = param.type.kind === 'array' ? param.type.of : param.type;
        for (let n = random.below(4); n > 0; n -= 1) args.push(this.values.of(of, depth));
      } else if (recent.length > 0 && random.oneIn(2)) args.push(random.pick(recent));
      else if (depth === 0 && random.oneIn(16)) args.push(this.values.odd());
      else args.push(this.values.of(param.type, depth));
    }
    return args;
  }

  // The smallest arguments that fit, so that empty input does not depend on chance.
  minimal(target) {
    const values = { string: "''", array: '[]', number: '0', boolean: 'false' };
    const needed = target.params.filter((param) => !param.optional && !param.rest);
    return { target, args: needed.map(({ type }) => values[type.kind] || this.values.of(type)), steps: [] };
  }

  newCall(target) {
    const { random } = this;
    if (target.kind === 'function') {
      if (target.examples.length > 0 && random.oneIn(4)) return { target, args: this.variedArgs(random.pick(target.examples), target.params), steps: [] };
      return { target, args: this.args(target.params), steps: [] };
    }
    const known = this.workingArgs.get(target.name) || [];
    // Where the constructor alone finds little, a factory may do better.
    const factory = target.factories.length > 0 && random.oneIn(known.length > 0 ? 8 : 2) ? random.pick(target.factories) : undefined;
    const given = target.examples.length > 0 && random.oneIn(4) ? this.variedArgs(random.pick(target.examples), target.params) : null;
    const args = factory ? this.args(factory.params) : known.length > 0 && !random.oneIn(3) ? random.pick(known) : given || this.args(target.params);
    const steps = [];
    if (target.steps.length > 0) for (let n = random.below(MAX_STEPS); n > 0; n -= 1) steps.push(this.step(target, steps));
    return { target, args, steps, factory };
  }

  // One more step. Values of earlier steps are likely to be relevant.
  step(target, before) {
    const { random } = this;
    const kind = random.pick(target.steps);
    const recent = before.flatMap((step) => step.args).filter((source) => source.length < 30);
    const examples = kind.examples || [];
    const args = examples.length > 0 && random.oneIn(4) ? random.pick(examples) : this.args(kind.params, 0, recent);
    return { how: kind.how, name: kind.name, args };
  }

  variedArgs(args, params) {
    const { random } = this;
    const copy = [...args];
    if (copy.length === 0 || random.oneIn(8)) return this.args(params);
    if (copy.length < params.length && random.oneIn(4)) {
      copy.push(this.values.of(params[copy.length].type, 0));
      return copy;
    }
    const at = random.below(copy.length);
    const param = params[Math.min(at, params.length - 1)];
    copy[at] = this.values.vary(copy[at], param ? param.type : { kind: 'any' });
    return copy;
  }

  // A changed copy of a call.
  variant(call) {
    const { random } = this;
    const { target } = call;
    if (target.kind === 'function') return { target, args: this.variedArgs(call.args, target.params), steps: [] };
    const steps = [...call.steps];
    const { factory } = call;
    if (target.steps.length === 0 || random.oneIn(4)) return { target, args: this.variedArgs(call.args, (factory || target).params), steps, factory };
    const at = random.below(steps.length + 1);
    switch (random.below(4)) {
      case 0:
        if (steps.length > 0) {
          const index = Math.min(at, steps.length - 1);
          const kind = target.steps.find((one) => one.name === steps[index].name && one.how === steps[index].how);
          if (kind) steps[index] = { ...steps[index], args: this.variedArgs(steps[index].args, kind.params) };
        }
        break;
      case 1:
        if (steps.length > 1) steps.splice(Math.min(at, steps.length - 1), 1);
        break;
      default:
        if (steps.length < 2 * MAX_STEPS) steps.splice(at, 0, this.step(target, steps));
    }
    return { target, args: call.args, steps, factory };
  }

  // Copies that are easier to read: fewer steps and arguments, then simpler values.
  *simplerCalls(call, evaluate) {
    const { target, args, steps, factory } = call;
    const { params } = factory || target;
    for (let at = steps.length - 1; at >= 0; at -= 1) yield { target, args, steps: [...steps.slice(0, at), ...steps.slice(at + 1)], factory };
    const last = params[args.length - 1];
    // Without types any argument may be optional: then the result must stay the same.
    if (last && (last.optional || !last.sure)) yield { target, args: args.slice(0, -1), steps, factory, sameResult: !last.optional };
    for (const [at, step] of steps.entries()) {
      if (step.args.length > 0) yield { target, args, steps: steps.map((one, index) => (index === at ? { ...one, args: step.args.slice(0, -1) } : one)), factory };
    }
    const lists = [[args, (list) => ({ target, args: list, steps, factory })]];
    steps.forEach((step, at) => lists.push([step.args, (list) => ({ target, args, factory, steps: steps.map((one, index) => (index === at ? { ...one, args: list } : one)) })]));
    // In turn, so that a long text does not keep the options from being tried.
    let open = lists.flatMap(([list, put]) => list.map((source, at) => ({ list, put, at, values: simpler(source, evaluate) })));
    while (open.length > 0) {
      open = open.filter((one) => {
        one.next = one.values.next();
        return !one.next.done;
      });
      for (const { list, put, at, next } of open) yield put([...list.slice(0, at), next.value, ...list.slice(at + 1)]);
    }
  }
}

// A call as source text.
function callText(call) {
  const list = call.args.join(', ');
  const { target } = call;
  if (target.snippet) {
    const { setup, observed } = parts(call);
    return setup === '' ? observed : `${setup}\n${observed}`;
  }
  if (target.kind === 'function') return `${target.expression}(${list})`;
  const made = constructionText(call);
  if (call.steps.length === 0) return made;
  return [`made = ${made}`, ...call.steps.map((step) => stepText('made', step))].join('; ');
}

function constructionText({ target, args, factory }) {
  return `${factory ? factory.expression : `new ${target.expression}`}(${args.join(', ')})`;
}

function stepText(made, step) {
  if (step.how === 'spread') return `[...${made}]`;
  if (step.how === 'set') return `${made}.${step.name} = ${step.args[0]}`;
  return `${made}${step.name.startsWith('[') ? '' : '.'}${step.name}(${step.args.join(', ')})`;
}

module.exports = { CallGenerator, constructionText, callText, stepText };
