// Selects the calls worth a test: those that reach what no other test does, and those that kill a mutant. Searches for calls
// that kill surviving mutants, and simplifies what is kept.
'use strict';

const { callText } = require('./cases.cjs');
const { callsFromComparisons } = require('./comparisons.cjs');
const { hasDeclaredTypes, isMisuse } = require('./defects.cjs');
const { passes } = require('./existing_tests.cjs');
const { testBody } = require('./render.cjs');
const { rerun, runBatch, runUnwatched, runWatched, withTimeout } = require('./run.cjs');

const TIMEOUT_MS = 400;
const PER_TIMEOUT = 20;
const MAX_TRIES = 80;
const MAX_EXISTING_TESTS = 40;
const BATCH = 32;
const MAX_FAILED_BATCHES = 40;
const FEW = 8;
const PER_PATH = 4;
const MAX_SIMPLER = 20;
const MUTANT_SHARE = 0.75;

// How hard a case is to read.
function weight(found) {
  const text = callText(found);
  const odd = text.replace(/[\w\s'",.()[\]-]/g, '').length;
  const failed = found.outcome.result.kind === 'throws' || found.outcome.steps.some((step) => step.result.kind === 'throws');
  return text.length + 2 * odd + 15 * found.steps.length + (failed ? 120 : 0) - (found.isExample ? 60 : 0) + (found.outcome.result.kind === 'instance' && found.target.kind === 'function' ? 60 : 0);
}

class Selection {
  constructor(search) {
    this.search = search;
    this.mutants = search.mutants;
    this.pool = [...search.cases.values()].flat().filter((found) => !isMisuse(search, found, found.outcome));
    for (const found of this.pool) Object.assign(found, { weight: weight(found), kills: new Set() });
    this.pool.sort((a, b) => a.weight - b.weight);
    this.kept = [];
    this.killed = 0;
    this.survivors = [];
  }

  async run() {
    this.selectByCoverage();
    if (this.mutants.sites.length > 0) {
      await this.runMutants();
      await this.searchKillers();
    }
    await this.simplify();
  }

  // Keeps a few simple cases that reach all that the pool reaches and existing tests do not.
  selectByCoverage() {
    const { tracer } = this.search;
    const chosen = (list) => {
      const missed = tracer.baseline();
      return list.filter((found) => {
        const isNew = tracer.isNew(found.reached, missed);
        if (isNew) tracer.add(found.reached, missed);
        return isNew;
      });
    };
    const first = chosen(this.pool);
    // Later cases may make earlier ones redundant.
    this.kept = chosen([...first].reverse()).reverse();
    // Without all mutants, keep several cases per path instead.
    if (this.search.tracer === this.search.engineTracer && this.search.existingTests.length === 0) this.kept = this.severalPerPath();
  }

  severalPerPath() {
    const counts = new Map();
    return this.pool.filter((found) => {
      const key = `${found.target.name}\n${found.path}`;
      const count = (counts.get(key) || 0) + 1;
      counts.set(key, count);
      return this.kept.includes(found) || (count <= PER_PATH && found.outcome.result.kind !== 'throws');
    });
  }

  // The text of a test of this case with an outcome.
  testText(found, outcome) {
    const made = testBody({ ...found, outcome }, this.search);
    return made === null ? null : made.lines.join('\n');
  }

  // Whether a test of the case fails on another outcome.
  testFailsOn(found, outcome) {
    if (!outcome || !outcome.result || ['hangs', 'overflows', 'forbidden'].includes(outcome.result.kind)) return true;
    if (found.testText === undefined) found.testText = this.testText(found, found.outcome);
    return this.testText(found, outcome) !== found.testText;
  }

  // The first case that kills a mutant, or null.
  async firstKiller(id, cases) {
    const { search, mutants: { state } } = this;
    let at = 0;
    let killer = null;
    const runSome = () => {
      for (const until = Math.min(cases.length, at + PER_TIMEOUT); at < until && !cases[at].target.promises; at += 1) {
        search.recordCall(cases[at], true);
        if (this.testFailsOn(cases[at], runUnwatched(cases[at], search.evaluator))) {
          killer = cases[at];
          return;
        }
      }
    };
    state.active = id;
    try {
      while (at < cases.length && killer === null) {
        let alone = cases[at].target.promises;
        try {
          if (!alone) withTimeout(runSome, TIMEOUT_MS);
        } catch {
          alone = true;
        }
        if (alone && killer === null) {
          search.recordCall(cases[at], true);
          if (this.testFailsOn(cases[at], await runWatched(cases[at], search.evaluator))) return cases[at];
          at += 1;
        }
      }
    } finally {
      state.active = -1;
    }
    return killer;
  }

  // Whether an existing test kills a mutant.
  async isKilledByExisting(id, tests) {
    const { search, mutants: { state } } = this;
    state.active = id;
    try {
      for (const test of tests) {
        search.recordCall({ target: { name: test.name, kind: 'function', expression: test.name }, args: [], steps: [] }, true);
        if (!(await passes(test))) return true;
      }
    } finally {
      state.active = -1;
    }
    return false;
  }

  // Runs each mutant with the cases that reach it.
  async runMutants() {
    const { search } = this;
    const byMutant = new Map(this.mutants.sites.filter((site) => search.isWanted(site.line)).map((site) => [site.id, { site, cases: [], tests: [] }]));
    for (const found of this.pool) {
      search.recordCall(found);
      this.mutants.clear();
      const outcome = await rerun(found, search.evaluator);
      // A result that differs now depends on earlier calls.
      if (this.testFailsOn(found, outcome)) found.isUnstable = true;
      else for (const id of this.mutants.reachedSites()) if (byMutant.has(id)) byMutant.get(id).cases.push(found);
    }
    this.kept = this.kept.filter((found) => !found.isUnstable);
    for (const test of search.existingTests) for (const id of test.hits) if (byMutant.has(id)) byMutant.get(id).tests.push(test);
    const todo = shuffled([...byMutant.values()].filter(({ cases, tests }) => cases.length + tests.length > 0), search.random);
    for (const entry of todo) {
      if (search.isOutOfTime(MUTANT_SHARE)) break;
      await this.runMutant(entry);
    }
  }

  async runMutant(entry) {
    const { site, cases, tests } = entry;
    if (await this.isKilledByExisting(site.id, tests.slice(0, MAX_EXISTING_TESTS))) {
      this.killed += 1;
      return;
    }
    const first = cases.filter((found) => this.kept.includes(found));
    const others = cases.filter((found) => !this.kept.includes(found));
    const killer = await this.firstKiller(site.id, [...first, ...others.slice(0, MAX_TRIES)]);
    if (killer === null) this.survivors.push(entry);
    else this.addKill(killer, site.id);
  }

  addKill(killer, id) {
    this.killed += 1;
    killer.kills.add(id);
    if (!this.kept.includes(killer)) this.kept.push(killer);
  }

  // Varies the calls that reach surviving mutants until one kills them.
  async searchKillers() {
    const { search } = this;
    for (let failed = 0; failed < MAX_FAILED_BATCHES && this.survivors.length > 0 && !search.isOutOfTime(MUTANT_SHARE); failed += 1) {
      const entry = search.random.pick(this.survivors);
      if (entry.cases.length === 0) continue;
      if (await this.varyCalls(entry)) failed = 0;
    }
  }

  async varyCalls(entry) {
    const { search } = this;
    const parents = entry.cases.slice(0, 60);
    const calls = [];
    const pairs = new Map();
    for (let n = 0; n < BATCH; n += 1) {
      const parent = search.random.pick(parents);
      if (n === 0 && !parent.target.promises) pairs.set(parent, callsFromComparisons(parent, this.mutants.comparisonsDuring(() => ignoringTimeout(() => runUnwatched(parent, search.evaluator))), (list) => search.evaluator.of(list)));
      const near = pairs.get(parent);
      const call = near && near.length > 0 && search.random.oneIn(2) ? search.random.pick(near) : search.random.oneIn(6) ? search.generator.newCall(parent.target) : search.generator.variant(parent);
      if (!search.skip.has(search.label(call)) && callText(call).length <= 160) calls.push(call);
    }
    const found = await this.runCalls(calls);
    let success = false;
    for (const open of [...this.survivors]) {
      const reaching = found.filter((one) => one.hits.has(open.site.id)).slice(0, FEW);
      if (reaching.length === 0) continue;
      const killer = await this.firstKiller(open.site.id, reaching);
      if (killer === null || !(await search.isStable(killer, JSON.stringify(killer.outcome)))) continue;
      const [{ reached }] = await search.runTraced([killer]);
      this.addKill(Object.assign(killer, { reached, path: reached.path }), open.site.id);
      this.survivors.splice(this.survivors.indexOf(open), 1);
      for (const other of this.survivors) if (killer.hits.has(other.site.id)) other.cases.unshift(killer);
      success = true;
      if (search.isOutOfTime(MUTANT_SHARE)) break;
    }
    return success;
  }

  // Runs calls. Returns them with their outcomes and the mutants that they reach, simple ones first.
  async runCalls(calls) {
    const { search, mutants } = this;
    const hits = [];
    const outcomes = runBatch(calls, search.evaluator, (call) => {
      search.recordCall(call);
      mutants.clear();
    }, () => hits.push(new Set(mutants.reachedSites())));
    const found = [];
    for (const [at, outcome] of outcomes.entries()) {
      if (!outcome || outcome.promise || search.isUnusable(calls[at], outcome)) continue;
      const failed = outcome.result.kind === 'throws';
      const made = { ...calls[at], outcome, hits: hits[at], kills: new Set(), isExample: false, reachedNew: false };
      if (!failed && this.testText(made, outcome) !== null) found.push({ ...made, weight: weight(made) });
    }
    return found.sort((a, b) => a.weight - b.weight);
  }

  // Replaces kept calls by simpler ones, the hardest to read first. Examples stay as people wrote them.
  async simplify() {
    const { search } = this;
    const uses = this.countBranches();
    const order = [...this.kept.keys()].sort((a, b) => this.kept[b].weight - this.kept[a].weight);
    for (const at of order) {
      const found = this.kept[at];
      if (found.isExample || search.isOutOfTime()) continue;
      const needed = uses && found.reached.branches.filter((branch) => uses.get(branch) === 1);
      let best = found;
      for (let round = 0; round < MAX_SIMPLER && !search.isOutOfTime(); round += 1) {
        const better = await this.simpler(best, needed);
        if (better === null) break;
        best = better;
      }
      this.kept[at] = best;
      if (uses === null || best === found) continue;
      for (const branch of found.reached.branches) uses.set(branch, uses.get(branch) - 1);
      for (const branch of best.reached.branches) uses.set(branch, (uses.get(branch) || 0) + 1);
    }
  }

  // How many kept calls and existing tests reach each branch, or null when branches are not known.
  countBranches() {
    const { tracer, engineTracer } = this.search;
    if (tracer === engineTracer) return null;
    const uses = new Map([...tracer.baseline()].map((branch) => [branch, 1]));
    for (const { reached } of this.kept) for (const branch of reached.branches) uses.set(branch, (uses.get(branch) || 0) + 1);
    return uses;
  }

  // A simpler call with a result of the same kind, which kills the same mutants and reaches the `needed` branches, or takes
  // the same path when branches are not known. Null when there is none.
  async simpler(found, needed) {
    const { search } = this;
    const { outcome, path } = found;
    const others = [];
    const declared = hasDeclaredTypes(search, found);
    for (const other of search.generator.simplerCalls(found, (sources) => search.evaluator.of(sources))) {
      // A call that fits the declared types must still fit them.
      if (!search.skip.has(search.label(other)) && (!declared || hasDeclaredTypes(search, other))) others.push(other);
      if (others.length >= BATCH) break;
    }
    for (const { call, outcome: newOutcome, reached } of await search.runTraced(others)) {
      if (!newOutcome || !newOutcome.result || newOutcome.result.kind !== outcome.result.kind || newOutcome.result.name !== outcome.result.name) continue;
      if (call.sameResult && JSON.stringify(newOutcome.result) !== JSON.stringify(outcome.result)) continue;
      if (needed === null ? reached.path !== path : needed.some((branch) => !reached.branches.includes(branch))) continue;
      const made = { ...found, ...call, outcome: newOutcome, reached, path: reached.path, testText: undefined };
      if (this.kept.some((one) => one !== found && callText(one) === callText(made))) continue;
      if ((await this.killsAll(made, found.kills)) && (await search.isStable(call, JSON.stringify(newOutcome)))) return made;
    }
    return null;
  }

  async killsAll(made, ids) {
    for (const id of ids) if ((await this.firstKiller(id, [made])) === null) return false;
    return true;
  }
}

function ignoringTimeout(work) {
  try {
    withTimeout(work);
  } catch {
    // The comparisons until then are enough.
  }
}

function shuffled(list, random) {
  for (let at = list.length - 1; at > 0; at -= 1) {
    const other = random.below(at + 1);
    [list[at], list[other]] = [list[other], list[at]];
  }
  return list;
}

// Reduces the cases of a search to those worth a test. Returns which mutants were killed.
async function selectCases(search) {
  const selection = new Selection(search);
  await selection.run();
  for (const name of search.cases.keys()) search.cases.set(name, selection.kept.filter((found) => found.target.name === name));
  return { killed: selection.killed, survivors: selection.survivors.map(({ site }) => [site.line, site.what]) };
}

module.exports = { selectCases };
