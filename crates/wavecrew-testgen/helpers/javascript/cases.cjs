// Makes calls: new ones, changed copies of those that led somewhere, and plainer ones that take the same way.
'use strict';

const { simpler } = require('./simplify.cjs');

const MOST_STEPS = 6;

class Calls {
  constructor(random, values, found) {
    this.random = random;
    this.values = values;
    this.found = found;
    // What worked for a class, for values of its kind.
    this.made = new Map();
  }

  remember(call) {
    if (call.target.kind !== 'class') return;
    const known = this.made.get(call.target.name) || [];
    if (known.length < 20 && !call.via) known.push(call.args);
    this.made.set(call.target.name, known);
  }

  instance(name, depth) {
    const target = this.found.find((found) => found.kind === 'class' && (found.name === name || found.value.name === name));
    if (!target || depth > 2) return null;
    const known = this.made.get(target.name);
    const args = known && !this.random.oneIn(3) ? this.random.pick(known) : this.args(target.params, depth + 1);
    return `new ${target.expression}(${args.join(', ')})`;
  }

  // Arguments for parameters; `recent` are values that the same call has used already.
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

  // The least that fits: nobody has to be lucky to try nothing at all.
  least(target) {
    const values = { string: "''", array: '[]', number: '0', boolean: 'false' };
    const needed = target.params.filter((param) => !param.optional && !param.rest);
    return { target, args: needed.map(({ type }) => values[type.kind] || this.values.of(type)), steps: [] };
  }

  fresh(target) {
    const { random } = this;
    if (target.kind === 'function') {
      if (target.examples.length > 0 && random.oneIn(4)) return { target, args: this.varied(random.pick(target.examples), target.params), steps: [] };
      return { target, args: this.args(target.params), steps: [] };
    }
    const known = this.made.get(target.name) || [];
    // Where a constructor alone leads nowhere, others may.
    const via = target.makers.length > 0 && random.oneIn(known.length > 0 ? 8 : 2) ? random.pick(target.makers) : undefined;
    const given = target.examples.length > 0 && random.oneIn(4) ? this.varied(random.pick(target.examples), target.params) : null;
    const args = via ? this.args(via.params) : known.length > 0 && !random.oneIn(3) ? random.pick(known) : given || this.args(target.params);
    const steps = [];
    if (target.steps.length > 0) for (let n = random.below(MOST_STEPS); n > 0; n -= 1) steps.push(this.step(target, steps));
    return { target, args, steps, via };
  }

  // One more step; what was put in before is likely to be asked for.
  step(target, before) {
    const { random } = this;
    const kind = random.pick(target.steps);
    const recent = before.flatMap((step) => step.args).filter((source) => source.length < 30);
    const examples = kind.examples || [];
    const args = examples.length > 0 && random.oneIn(4) ? random.pick(examples) : this.args(kind.params, 0, recent);
    return { how: kind.how, name: kind.name, args };
  }

  varied(args, params) {
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
  near(call) {
    const { random } = this;
    const { target } = call;
    if (target.kind === 'function') return { target, args: this.varied(call.args, target.params), steps: [] };
    const steps = [...call.steps];
    const { via } = call;
    if (target.steps.length === 0 || random.oneIn(4)) return { target, args: this.varied(call.args, (via || target).params), steps, via };
    const at = random.below(steps.length + 1);
    switch (random.below(4)) {
      case 0:
        if (steps.length > 0) {
          const index = Math.min(at, steps.length - 1);
          const kind = target.steps.find((one) => one.name === steps[index].name && one.how === steps[index].how);
          if (kind) steps[index] = { ...steps[index], args: this.varied(steps[index].args, kind.params) };
        }
        break;
      case 1:
        if (steps.length > 1) steps.splice(Math.min(at, steps.length - 1), 1);
        break;
      default:
        if (steps.length < 2 * MOST_STEPS) steps.splice(at, 0, this.step(target, steps));
    }
    return { target, args: call.args, steps, via };
  }

  // Copies that read better: fewer steps and arguments, then plainer values.
  *plainer(call, evaluate) {
    const { target, args, steps, via } = call;
    const { params } = via || target;
    for (let at = steps.length - 1; at >= 0; at -= 1) yield { target, args, steps: [...steps.slice(0, at), ...steps.slice(at + 1)], via };
    if (args.length > 0 && params[args.length - 1] && params[args.length - 1].optional) yield { target, args: args.slice(0, -1), steps, via };
    for (const [at, step] of steps.entries()) {
      if (step.args.length > 0) yield { target, args, steps: steps.map((one, index) => (index === at ? { ...one, args: step.args.slice(0, -1) } : one)), via };
    }
    const lists = [[args, (list) => ({ target, args: list, steps, via })]];
    steps.forEach((step, at) => lists.push([step.args, (list) => ({ target, args, via, steps: steps.map((one, index) => (index === at ? { ...one, args: list } : one)) })]));
    for (const [list, put] of lists) {
      for (let at = 0; at < list.length; at += 1) {
        for (const other of simpler(list[at], evaluate)) yield put([...list.slice(0, at), other, ...list.slice(at + 1)]);
      }
    }
  }
}

// A call as a person would type it.
function shown(call) {
  const list = call.args.join(', ');
  const { target } = call;
  if (target.kind === 'function') return `${target.expression}(${list})`;
  const made = madeText(call);
  if (call.steps.length === 0) return made;
  return [`made = ${made}`, ...call.steps.map((step) => stepText('made', step))].join('; ');
}

function madeText({ target, args, via }) {
  return `${via ? via.expression : `new ${target.expression}`}(${args.join(', ')})`;
}

function stepText(made, step) {
  if (step.how === 'spread') return `[...${made}]`;
  if (step.how === 'set') return `${made}.${step.name} = ${step.args[0]}`;
  return `${made}${step.name.startsWith('[') ? '' : '.'}${step.name}(${step.args.join(', ')})`;
}

module.exports = { Calls, madeText, shown, stepText };
