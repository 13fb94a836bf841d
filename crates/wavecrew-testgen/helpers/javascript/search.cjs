// Searches for calls that reach the code and distinguish its behaviours.
'use strict';

const fs = require('node:fs');
const { dropAsyncErrors } = require('./async_errors.cjs');
const { CallGenerator, callText } = require('./cases.cjs');
const { callsFromComparisons } = require('./comparisons.cjs');
const { findDefects, noteInternalError } = require('./defects.cjs');
const examples = require('./examples.cjs');
const { passes } = require('./existing_tests.cjs');
const { Mutants } = require('./mutants.cjs');
const { observeLookups } = require('./probes.cjs');
const { quarantine } = require('./quarantine.cjs');
const { seededRandom } = require('./random.cjs');
const { render, withoutSubject } = require('./render.cjs');
const { Evaluator, cpuTime, rerun, runBatch, runUnwatched, runWatched, withTimeout } = require('./run.cjs');
const { blockWritesAndOutput } = require('./sandbox.cjs');
const { selectCases } = require('./selection.cjs');
const { isStable } = require('./stability.cjs');
const { findTargets } = require('./targets.cjs');
const { EngineTracer, SiteTracer } = require('./tracing.cjs');
const { Uncovered } = require('./uncovered.cjs');
const { Values } = require('./values.cjs');

const MAX_CASES = 40;
const PER_PATH = 5;
const MAX_LENGTH = 160;
const BATCH = 32;
const FEW = 4;
// Calls of one target without a find before it counts as exhausted.
const EXHAUSTED = 6000;
// What a call that overflows or hangs costs, measured in calls.
const OVERFLOW_COST = 30;
const HANG_COST = 3000;
const SLOW_COST = 600;
const MAX_HANGS = 3;
const BUSY_FACTOR = 10;
// The rest is for mutants and for simpler inputs.
const SEARCH_SHARE = 0.55;
// Batches between two updates of what is uncovered, and how much more calls far away from it cost.
const UPDATE_EVERY = 24;
const FAR_COST = 5;
const EXISTING_SHARE = 0.2;
const EXISTING_MS = 2000;

class Search {
  constructor(subject, plan, restoreBuiltins) {
    this.subject = subject;
    this.plan = plan;
    this.random = seededRandom(plan.seed);
    const all = findTargets(subject, plan);
    const avoid = (target) => plan.exclusions.avoid.includes(target.name);
    this.targets = all.filter((target) => !avoid(target));
    // Location and expression of excluded targets, for reports.
    this.avoided = new Map(all.filter(avoid).map(({ name, line, expression }) => [name, { at: line, used: expression }]));
    this.values = new Values(this.random, plan.constants, (name, depth) => this.generator.instance(name, depth));
    this.generator = new CallGenerator(this.random, this.values, this.targets);
    this.evaluator = new Evaluator(subject, restoreBuiltins);
    this.engineTracer = new EngineTracer(plan.file);
    this.tracer = this.engineTracer;
    this.mutants = new Mutants(this.engineTracer);
    this.uncovered = new Uncovered(plan.feedback, this.mutants);
    this.existingTests = [];
    this.skip = new Set(plan.exclusions.skip);
    this.calls = 0;
    this.dropped = new Map();
    this.cases = new Map(this.targets.map((target) => [target.name, []]));
    this.paths = new Map();
    // Calls that reached something new and whose comparisons were not followed yet.
    this.leads = [];
    this.defects = [];
    this.began = { used: cpuTime(), at: Date.now() };
    // Time spent on calls that do not end, which does not count against the budget.
    this.excludedTime = 0;
    const words = plan.texts.flatMap(examples.quotedWords);
    this.values.learn({ regexes: [], strings: words, words });
    examples.collectExamples(this.targets, plan.texts);
  }

  // Budgets are processor time, so that a busy machine runs the same search. Wall time is a last resort.
  isOutOfTime(share = 1) {
    const budget = this.plan.budget * share;
    return cpuTime() - this.began.used - this.excludedTime > budget || Date.now() - this.began.at > BUSY_FACTOR * budget;
  }

  // A call as reports show it.
  label(call) {
    return withoutSubject(callText(call), this);
  }

  // Writes the call to the trace file, which tells the parent what a dead process was doing.
  recordCall(call, usesMutant = false) {
    this.calls += 1;
    fs.writeSync(this.plan.traceHandle, `${JSON.stringify({ target: call.target.name, text: this.label(call), uses_mutant: usesMutant })}\n`, 0);
  }

  isWanted(line) {
    return this.uncovered.isWanted(line);
  }

  // Runs existing tests, and remembers what the passing ones reach.
  async runExistingTests(tests) {
    const until = cpuTime() + Math.max(EXISTING_SHARE * this.plan.budget, EXISTING_MS);
    for (const test of tests) {
      if (cpuTime() > until) break;
      this.recordCall({ target: { name: test.name, kind: 'function', expression: test.name }, args: [], steps: [] }, true);
      this.tracer.clear();
      if (!(await passes(test))) continue;
      const hits = this.mutants.reachedSites();
      this.tracer.add(this.tracer.takeReached());
      this.existingTests.push({ name: test.name, steps: test.steps, hits });
    }
    // Functions without sites are recognised by name.
    const texts = this.plan.texts.slice(1).join('\n');
    const named = this.targets.filter(({ aliases }) => this.existingTests.length > 0 && aliases.some((name) => texts.includes(`${name}(`)));
    if (this.tracer !== this.engineTracer) this.tracer.add({ branches: named.map(({ name }) => name) });
    this.tracer.setBaseline();
  }

  isStable(call, expected) {
    return isStable(() => rerun(call, this.evaluator), expected);
  }

  drop(what, why) {
    if (!this.dropped.has(what)) this.dropped.set(what, why);
  }

  // Whether an outcome cannot become a test. Records why.
  isUnusable(call, outcome) {
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
      this.drop(target.name, outcome.result.text);
      target.forbidden = (target.forbidden || 0) + 1;
      return true;
    }
    return false;
  }

  // Runs calls, many under one timeout, and traces what each reached.
  async runTraced(calls) {
    const found = [];
    while (found.length < calls.length) {
      const rest = calls.slice(found.length);
      if (rest[0].target.promises || rest[0].slow) {
        found.push(await this.runAlone(rest[0]));
        continue;
      }
      const reached = [];
      this.tracer.clear();
      const outcomes = runBatch(rest, this.evaluator, (call) => this.recordCall(call), (call) => reached.push(this.tracer.takeReached(call.target.name)));
      const promised = outcomes.findIndex((outcome) => outcome && outcome.promise);
      const good = promised < 0 ? outcomes.length : promised;
      for (let at = 0; at < good; at += 1) found.push({ call: rest[at], outcome: outcomes[at], reached: reached[at] });
      if (promised < 0 && good < rest.length) {
        // It timed out in the batch: alone, it gets more time.
        found.push(await this.runAlone(rest[good]));
      }
    }
    return found;
  }

  // Runs one call. Limits how much time a call that does not end takes from the others.
  async runAlone(call) {
    const { target } = call;
    this.recordCall(call);
    this.tracer.clear();
    const began = cpuTime();
    const outcome = await runWatched(call, this.evaluator);
    if (call.slow) this.excludedTime = Math.min(this.excludedTime + 2 * (cpuTime() - began), this.plan.budget);
    return { call, outcome, reached: this.tracer.takeReached(target.name) };
  }

  // Keeps a call that reached something new or has a new result on a known path. Returns whether it did.
  async keepIfNew({ call, outcome, reached }, isExample = false) {
    const { target } = call;
    noteInternalError(this, call, outcome);
    if (this.isUnusable(call, outcome)) return false;
    const reachedNew = this.tracer.isNew(reached);
    const alike = this.outcomesOnPath(target, reached.path);
    const outcomeKey = JSON.stringify(outcome);
    const known = this.cases.get(target.name);
    if (alike.includes(outcomeKey)) return false;
    if (!reachedNew && !isExample) {
      // Each path shows one failure.
      const failed = outcome.result.kind === 'throws' || outcome.steps.some((step) => step.result.kind === 'throws');
      if (alike.length >= (failed ? 1 : PER_PATH) || known.length >= MAX_CASES) return false;
    }
    if (callText(call).length > (reachedNew ? 4 : 1) * MAX_LENGTH) return false;
    if (!(await this.isStable(call, outcomeKey))) {
      this.drop(target.name, 'some results change from call to call');
      return false;
    }
    this.tracer.add(reached);
    alike.push(outcomeKey);
    known.push({ ...call, outcome, reachedNew, path: reached.path, reached, isExample });
    if (outcome.result.kind !== 'throws') this.generator.remember(call);
    if (reachedNew && !target.promises) this.values.learn(observeLookups(() => runUnwatched(call, this.evaluator)));
    if (reachedNew) this.leads.push(call);
    return true;
  }

  outcomesOnPath(target, path) {
    const key = `${target.name}\n${path}`;
    if (!this.paths.has(key)) this.paths.set(key, []);
    return this.paths.get(key);
  }

  nextCall(target) {
    const known = this.cases.get(target.name);
    if (known.length === 0 || this.random.oneIn(3)) return this.generator.newCall(target);
    const close = this.uncovered.nearbyCases.get(target.name);
    if (close && this.random.oneIn(2)) return this.generator.variant(this.random.pick(close));
    // Recent finds lead to new ones most often.
    const at = this.random.oneIn(2) ? known.length - 1 - this.random.below(Math.min(known.length, 6)) : this.random.below(known.length);
    return this.generator.variant(known[at]);
  }

  // Runs many calls under one trace, then traces the interesting ones separately. Returns how many were kept.
  async batch(target, size) {
    const calls = [];
    for (let n = 0; n < size; n += 1) {
      const call = this.nextCall(target);
      if (!this.skip.has(this.label(call))) calls.push(call);
    }
    if (target.promises) return this.keepEach(calls);
    this.tracer.clear();
    const outcomes = runBatch(calls, this.evaluator, (call) => this.recordCall(call));
    outcomes.forEach((outcome, at) => noteInternalError(this, calls[at], outcome));
    let worth = [];
    if (target.promises || this.tracer.isNew(this.tracer.takeReached(target.name))) worth = calls.slice(0, outcomes.length);
    else if (this.cases.get(target.name).length < MAX_CASES) worth = calls.filter((_, index) => this.hasNewResult(target, outcomes[index]));
    // The one that timed out gets another run alone.
    if (outcomes.length < calls.length) {
      worth.push({ ...calls[outcomes.length], slow: true });
      target.cost += SLOW_COST;
    }
    return this.keepEach(worth);
  }

  async keepEach(calls, isExample = false) {
    let kept = 0;
    for (const one of await this.runTraced(calls)) if (await this.keepIfNew(one, isExample)) kept += 1;
    return kept;
  }

  // Whether a target has not had this result before. After many new results, only some count.
  hasNewResult(target, outcome) {
    if (!outcome || !outcome.result) return false;
    const outcomeKey = JSON.stringify(outcome);
    target.results = target.results || new Set();
    if (target.results.has(outcomeKey)) return false;
    target.results.add(outcomeKey);
    return target.results.size < 60 || this.random.oneIn(8);
  }

  async tryExamples() {
    for (const target of this.targets) {
      const calls = target.examples.slice(0, 40).map((args) => ({ target, args, steps: [] })).filter((call) => !this.skip.has(this.label(call)));
      await this.keepEach(calls, target.kind === 'function');
      const least = this.generator.minimal(target);
      if (!this.skip.has(this.label(least))) await this.keepEach([least]);
    }
  }

  // Tries variants of a call by what it compared. Returns how many were kept.
  async followComparisons() {
    const call = this.leads.shift();
    const { target } = call;
    if (target.promises) return 0;
    const pairs = this.mutants.comparisonsDuring(() => {
      try {
        withTimeout(() => runUnwatched(call, this.evaluator));
      } catch {
        // The comparisons until then are enough.
      }
    });
    const others = callsFromComparisons(call, pairs, (sources) => this.evaluator.of(sources)).filter((other) => !this.skip.has(this.label(other)));
    let kept = 0;
    // A target that hangs would use up the time of the others.
    for (let at = 0; at < others.length && !target.hung && !this.isOutOfTime(SEARCH_SHARE); at += FEW) kept += await this.keepEach(others.slice(at, at + FEW));
    return kept;
  }

  // Finds out what is uncovered now, and which calls come near it.
  updateUncovered() {
    this.values.prefer(this.uncovered.update(this.tracer, this.cases));
    for (const close of this.uncovered.nearbyCases.values()) if (this.leads.length < BATCH) this.leads.push(this.random.pick(close));
  }

  async start(tests) {
    this.tests = tests;
    this.cases = new Map(this.targets.map((target) => [target.name, []]));
    this.paths.clear();
    this.existingTests = [];
    this.leads = [];
    for (const target of this.targets) Object.assign(target, { quiet: 0, cost: 0 });
    await this.runExistingTests(tests);
    await this.tryExamples();
  }

  // When part of the module is not instrumented, the engine's counters are more precise; otherwise they only cost time.
  async chooseTracer() {
    if (this.mutants.hasUninstrumentedCalls()) {
      this.tracer = this.engineTracer;
      await this.start(this.tests);
    } else this.engineTracer.pause();
  }

  async explore() {
    for (let batches = 0; !this.isOutOfTime(SEARCH_SHARE); batches += 1) {
      if (batches === UPDATE_EVERY && this.tracer !== this.engineTracer) await this.chooseTracer();
      if (batches % UPDATE_EVERY === 0) this.updateUncovered();
      if (this.leads.length > 0 && (await this.followComparisons()) > 0) continue;
      // Targets that hang are tried less and less; forbidden ones are not tried again.
      const limit = this.tracer.isOpen() ? 4 * EXHAUSTED : EXHAUSTED;
      const active = this.targets.filter((target) => target.quiet < limit && (target.forbidden || 0) <= 20 && (target.hung || 0) < MAX_HANGS);
      if (active.length === 0) break;
      // The cheapest so far. Cost counts calls, not time, so that a seed repeats the order.
      const target = active.reduce((least, other) => (other.cost < least.cost ? other : least));
      // Start with few calls, so that a hanging target leaves time for those not tried yet.
      const size = target.cost < BATCH || target.promises ? FEW : BATCH;
      target.cost += this.uncovered.isNear(target) || target.cost < BATCH ? size : FAR_COST * size;
      target.quiet = (await this.batch(target, size)) > 0 ? 0 : target.quiet + size;
    }
  }

  async run(tests) {
    const unblock = blockWritesAndOutput();
    try {
      // Without instrumentation, the engine's counters trace instead.
      if (!this.plan.exclusions.no_mutants && this.mutants.install() && this.mutants.coverAll(this.targets)) this.tracer = new SiteTracer(this.mutants);
      await this.start(tests);
      await this.explore();
      const before = cpuTime();
      await findDefects(this);
      this.excludedTime += cpuTime() - before;
      this.mutantResult = await selectCases(this);
      await dropAsyncErrors(this);
    } finally {
      unblock();
      this.engineTracer.stop();
    }
    return { ...render(this), ...quarantine(this) };
  }
}

module.exports = { Search };
