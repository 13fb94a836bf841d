// Looks for calls that reach the code and tell its behaviours apart. Runs inside the project's own test framework, so that
// modules load as they do in its tests.
'use strict';

const fs = require('node:fs');
const { aimed } = require('./comparisons.cjs');
const { Calls, shown } = require('./cases.cjs');
const { choose } = require('./selection.cjs');
const { Cover } = require('./tracing.cjs');
const { noteLost, suspects } = require('./defects.cjs');
const examples = require('./examples.cjs');
const { Faults } = require('./mutants.cjs');
const { Focus } = require('./uncovered.cjs');
const { keep } = require('./process_state.cjs');
const { guard, hush } = require('./sandbox.cjs');
const { ofVitest, passes, recorded } = require('./existing_tests.cjs');
const { dropLate } = require('./async_errors.cjs');
const { lots } = require('./random.cjs');
const { watch } = require('./probes.cjs');
const { Reach } = require('./reach.cjs');
const { bare, render } = require('./render.cjs');
const { Evaluator, again, direct, many, once, timed, used } = require('./run.cjs');
const { stable } = require('./stability.cjs');
const { subjects } = require('./targets.cjs');
const { Values } = require('./values.cjs');

const MOST_CASES = 40;
const PER_PATH = 5;
const LONGEST = 160;
const BATCH = 32;
const FEW = 4;
// Calls of one target that find nothing before it counts as done.
const QUIET = 6000;
// What a call that overflows or hangs costs, in calls.
const OVERFLOW_COST = 30;
const HANG_COST = 3000;
const SLOW_COST = 600;
const MOST_HANGS = 3;
const BUSY_FACTOR = 10;
// The rest is for faults, and for plainer inputs.
const SEARCH_SHARE = 0.55;
// Batches between two looks at what is open, and what others cost more than those that come near it.
const LOOK_EVERY = 24;
const FAR = 5;
const KNOWN_SHARE = 0.2;
const KNOWN_MS = 2000;

class Search {
  constructor(subject, plan, mended) {
    this.subject = subject;
    this.plan = plan;
    this.random = lots(plan.seed);
    const all = subjects(subject, plan);
    const avoid = (target) => plan.grief.avoid.includes(target.name);
    this.found = all.filter((target) => !avoid(target));
    // Where they are, for those who tell of them.
    this.avoided = new Map(all.filter(avoid).map(({ name, line, expression }) => [name, { at: line, used: expression }]));
    this.values = new Values(this.random, plan.constants, (name, depth) => this.made.instance(name, depth));
    this.made = new Calls(this.random, this.values, this.found);
    this.evaluator = new Evaluator(subject, mended);
    this.counters = new Cover(plan.file);
    this.cover = this.counters;
    this.faults = new Faults(this.counters);
    this.focus = new Focus(plan.open, this.faults);
    this.known = [];
    this.skip = new Set(plan.grief.skip);
    this.calls = 0;
    this.left = new Map();
    this.cases = new Map(this.found.map((target) => [target.name, []]));
    this.paths = new Map();
    // Calls that reached something new, and were not yet looked at for what they compared.
    this.leads = [];
    this.defects = [];
    this.began = { used: used(), at: Date.now() };
    // Spent on calls that do not end.
    this.lost = 0;
    const told = plan.texts.flatMap(examples.words);
    this.values.learn({ regexes: [], strings: told, told });
    examples.gather(this.found, plan.texts);
  }

  // Budgets are processor time, so that a busy machine does the same search; the clock has the last word.
  late(share = 1) {
    const budget = this.plan.budget * share;
    return used() - this.began.used - this.lost > budget || Date.now() - this.began.at > BUSY_FACTOR * budget;
  }

  // A call as it is told.
  label(call) {
    return bare(shown(call), this);
  }

  // What is tried now, for those who look when it ends the process.
  trail(call, fault = false) {
    this.calls += 1;
    fs.writeSync(this.plan.trail, `${JSON.stringify({ target: call.target.name, text: this.label(call), fault })}\n`, 0);
  }

  isWanted(line) {
    return this.focus.isWanted(line);
  }

  // Tests of the project that pass here as well: what they reach and come by.
  async readKnown(tests) {
    const until = used() + Math.max(KNOWN_SHARE * this.plan.budget, KNOWN_MS);
    for (const test of tests) {
      if (used() > until) break;
      this.trail({ target: { name: test.name, kind: 'function', expression: test.name }, args: [], steps: [] }, true);
      this.cover.clear();
      if (!(await passes(test))) continue;
      const hits = this.faults.taken();
      this.cover.learn(this.cover.look());
      this.known.push({ name: test.name, steps: test.steps, hits });
    }
    // Functions without any place are known by their names alone.
    const texts = this.plan.texts.slice(1).join('\n');
    const named = this.found.filter(({ aliases }) => this.known.length > 0 && aliases.some((name) => texts.includes(`${name}(`)));
    if (this.cover !== this.counters) this.cover.learn({ ways: named.map(({ name }) => name) });
    this.cover.settle();
  }

  stable(call, expected) {
    return stable(() => again(call, this.evaluator), expected);
  }

  leave(what, why) {
    if (!this.left.has(what)) this.left.set(what, why);
  }

  // What came of a call that cannot be shown as a test; whether it was such a one.
  unfit(call, outcome) {
    const { target } = call;
    if (outcome === null || !outcome.result) return true;
    if (outcome.result.kind === 'overflows') {
      target.cost += OVERFLOW_COST;
      return true;
    }
    if (outcome.result.kind === 'hangs') {
      target.hung = (target.hung || 0) + 1;
      target.cost += HANG_COST;
      if (!this.defects.some((defect) => defect.target === target)) {
        this.defects.push({ target, call, grew: outcome.result.grew });
      }
      return true;
    }
    if (outcome.result.kind === 'forbidden') {
      this.leave(target.name, outcome.result.text);
      target.forbidden = (target.forbidden || 0) + 1;
      return true;
    }
    return false;
  }

  // Runs calls one by one and looks at what each reached. Many share a watch.
  async looked(calls) {
    const found = [];
    while (found.length < calls.length) {
      const rest = calls.slice(found.length);
      if (rest[0].target.promises || rest[0].slow) {
        found.push(await this.alone(rest[0]));
        continue;
      }
      const reached = [];
      this.cover.clear();
      const outcomes = many(rest, this.evaluator, (call) => this.trail(call), (call) => reached.push(this.cover.look(call.target.name)));
      const promised = outcomes.findIndex((outcome) => outcome && outcome.promise);
      const good = promised < 0 ? outcomes.length : promised;
      for (let at = 0; at < good; at += 1) found.push({ call: rest[at], outcome: outcomes[at], reached: reached[at] });
      if (promised < 0 && good < rest.length) {
        // It did not end in time: alone, it has more.
        found.push(await this.alone(rest[good]));
      }
    }
    return found;
  }

  // What does not end takes its time from the others, but not too much of it.
  async alone(call) {
    const { target } = call;
    this.trail(call);
    this.cover.clear();
    const began = used();
    const outcome = await once(call, this.evaluator);
    if (call.slow) this.lost = Math.min(this.lost + 2 * (used() - began), this.plan.budget);
    return { call, outcome, reached: this.cover.look(target.name) };
  }

  // Keeps what reached something new or shows another result on a known path; whether it did.
  async consider({ call, outcome, reached }, wanted = false) {
    const { target } = call;
    noteLost(this, call, outcome);
    if (this.unfit(call, outcome)) return false;
    const news = this.cover.isNew(reached);
    const alike = this.alike(target, reached.path);
    const word = JSON.stringify(outcome);
    const known = this.cases.get(target.name);
    if (alike.includes(word)) return false;
    if (!news && !wanted) {
      // One way to fail is shown once per path.
      const failed = outcome.result.kind === 'throws' || outcome.steps.some((step) => step.result.kind === 'throws');
      if (alike.length >= (failed ? 1 : PER_PATH) || known.length >= MOST_CASES) return false;
    }
    if (shown(call).length > (news ? 4 : 1) * LONGEST) return false;
    if (!(await this.stable(call, word))) {
      this.leave(target.name, 'comes out differently each time for some inputs');
      return false;
    }
    this.cover.learn(reached);
    alike.push(word);
    known.push({ ...call, outcome, news, path: reached.path, reached, wanted });
    if (outcome.result.kind !== 'throws') this.made.remember(call);
    if (news && !target.promises) this.values.learn(watch(() => direct(call, this.evaluator)));
    if (news) this.leads.push(call);
    return true;
  }

  alike(target, path) {
    const key = `${target.name}\n${path}`;
    if (!this.paths.has(key)) this.paths.set(key, []);
    return this.paths.get(key);
  }

  next(target) {
    const known = this.cases.get(target.name);
    if (known.length === 0 || this.random.oneIn(3)) return this.made.fresh(target);
    const close = this.focus.near.get(target.name);
    if (close && this.random.oneIn(2)) return this.made.near(this.random.pick(close));
    // What was found last leads on most often.
    const at = this.random.oneIn(2) ? known.length - 1 - this.random.below(Math.min(known.length, 6)) : this.random.below(known.length);
    return this.made.near(known[at]);
  }

  // Many calls under one look; those that led somewhere are then looked at one by one. Answers how many were kept.
  async batch(target, size) {
    const calls = [];
    for (let n = 0; n < size; n += 1) {
      const call = this.next(target);
      if (!this.skip.has(this.label(call))) calls.push(call);
    }
    if (target.promises) return this.each(calls);
    this.cover.clear();
    const outcomes = many(calls, this.evaluator, (call) => this.trail(call));
    outcomes.forEach((outcome, at) => noteLost(this, calls[at], outcome));
    let worth = [];
    if (target.promises || this.cover.isNew(this.cover.look(target.name))) worth = calls.slice(0, outcomes.length);
    else if (this.cases.get(target.name).length < MOST_CASES) worth = calls.filter((_, index) => this.promising(target, outcomes[index]));
    // The one that did not end in time, if it does not by itself, either.
    if (outcomes.length < calls.length) {
      worth.push({ ...calls[outcomes.length], slow: true });
      target.cost += SLOW_COST;
    }
    return this.each(worth);
  }

  async each(calls, wanted = false) {
    let kept = 0;
    for (const one of await this.looked(calls)) if (await this.consider(one, wanted)) kept += 1;
    return kept;
  }

  // Whether a result was not seen before. Where many such are no use, few are looked at.
  promising(target, outcome) {
    if (!outcome || !outcome.result) return false;
    const word = JSON.stringify(outcome);
    target.words = target.words || new Set();
    if (target.words.has(word)) return false;
    target.words.add(word);
    target.looked = (target.looked || 0) + 1;
    return target.looked < 60 || this.random.oneIn(8);
  }

  async tryExamples() {
    for (const target of this.found) {
      const calls = target.examples.slice(0, 40).map((args) => ({ target, args, steps: [] })).filter((call) => !this.skip.has(this.label(call)));
      await this.each(calls, target.kind === 'function');
      const least = this.made.least(target);
      if (!this.skip.has(this.label(least))) await this.each([least]);
    }
  }

  // Calls that differ from one where it compared something; how many were kept.
  async follow() {
    const call = this.leads.shift();
    const { target } = call;
    if (target.promises) return 0;
    const pairs = this.faults.compared(() => {
      try {
        timed(() => direct(call, this.evaluator));
      } catch {
        // What was compared until then is enough.
      }
    });
    const others = aimed(call, pairs, (sources) => this.evaluator.of(sources)).filter((other) => !this.skip.has(this.label(other)));
    let kept = 0;
    // What hangs is not worth the time of the others.
    for (let at = 0; at < others.length && !target.hung && !this.late(SEARCH_SHARE); at += FEW) kept += await this.each(others.slice(at, at + FEW));
    return kept;
  }

  // Where the search stands: what is open, and who comes near it.
  look() {
    this.values.near(this.focus.look(this.cover, this.cases));
    for (const close of this.focus.near.values()) if (this.leads.length < BATCH) this.leads.push(this.random.pick(close));
  }

  async start(tests) {
    this.tests = tests;
    this.cases = new Map(this.found.map((target) => [target.name, []]));
    this.paths.clear();
    this.known = [];
    this.leads = [];
    for (const target of this.found) Object.assign(target, { quiet: 0, cost: 0 });
    await this.readKnown(tests);
    await this.tryExamples();
  }

  // Where parts of the module were not replaced, the engine's own counters know better; else they only take time.
  async settleCover() {
    if (this.faults.hasStrays()) {
      this.cover = this.counters;
      await this.start(this.tests);
    } else this.counters.pause();
  }

  async explore() {
    for (let batches = 0; !this.late(SEARCH_SHARE); batches += 1) {
      if (batches === LOOK_EVERY && this.cover !== this.counters) await this.settleCover();
      if (batches % LOOK_EVERY === 0) this.look();
      if (this.leads.length > 0 && (await this.follow()) > 0) continue;
      // What hangs is tried less and less; what is forbidden, not again.
      const most = this.cover.isOpen() ? 4 * QUIET : QUIET;
      const active = this.found.filter((target) => target.quiet < most && (target.forbidden || 0) <= 20 && (target.hung || 0) < MOST_HANGS);
      if (active.length === 0) break;
      // The one that had least; what takes long has had more, by count, so that a seed repeats the order.
      const target = active.reduce((least, other) => (other.cost < least.cost ? other : least));
      // A few calls first: one that hangs shall not take the time of those that nobody has tried yet.
      const size = target.cost < BATCH || target.promises ? FEW : BATCH;
      target.cost += this.focus.isNear(target) || target.cost < BATCH ? size : FAR * size;
      target.quiet = (await this.batch(target, size)) > 0 ? 0 : target.quiet + size;
    }
  }

  async run(tests) {
    const open = hush();
    try {
      // The engine's own counters stand in where nothing can be planted.
      if (!this.plan.grief.plain && this.faults.plant() && this.faults.isIn(this.found)) this.cover = new Reach(this.faults);
      await this.start(tests);
      await this.explore();
      const before = used();
      await suspects(this);
      this.lost += used() - before;
      this.judged = await choose(this);
      await dropLate(this);
    } finally {
      open();
      this.counters.stop();
    }
    return render(this);
  }
}

// What tests call the module: its main function by its own name, where that is free.
function stem(subject, plan) {
  const main = typeof subject === 'function' ? subject : subject.default;
  const name = typeof main === 'function' ? main.name : '';
  const free = /^[A-Za-z_$][\w$]*$/.test(name) && name !== 'default' && name !== 'exports' && !Object.hasOwn(subject, name);
  return free ? name : plan.stem;
}

// Keeps the code from the world, from before it is loaded.
function begin() {
  return { open: guard(), mended: keep() };
}

// Loads a module and searches it. `tests` are those of the project that are there already.
async function search(load, given, { open, mended }, tests) {
  try {
    const subject = await load();
    const changed = mended();
    const plan = { texts: [], ...given, stem: stem(subject, given), trail: fs.openSync(given.trailFile, 'w') };
    const finder = new Search(subject, plan, mended);
    if (changed !== null) finder.leave(plan.file, `changes ${changed} when it is loaded`);
    const result = await finder.run(tests);
    fs.writeFileSync(plan.out, JSON.stringify(result));
  } finally {
    open();
  }
}

module.exports = { begin, ofVitest, recorded, search };
