// Chooses the calls worth a test: those that reach what no other test does, and those that notice a planted fault. Faults
// that nobody notices are aimed at; what is kept is made plainer as long as it shows the same.
'use strict';

const { aimed } = require('./comparisons.cjs');
const { shown } = require('./cases.cjs');
const { isDeclared } = require('./defects.cjs');
const { passes } = require('./existing_tests.cjs');
const { body } = require('./render.cjs');
const { again, direct, many, once, timed } = require('./run.cjs');

const WATCH_MS = 400;
const AT_ONCE = 20;
const MOST_TRIES = 80;
const MOST_KNOWN = 40;
const BATCH = 32;
const MOST_QUIET = 40;
const FEW = 8;
const PER_PATH = 4;
const MOST_PLAINER = 12;
const AIM_SHARE = 0.85;

// How little a person would like to read a case.
function weight(found) {
  const text = shown(found);
  const odd = text.replace(/[\w\s'",.()[\]-]/g, '').length;
  const failed = found.outcome.result.kind === 'throws' || found.outcome.steps.some((step) => step.result.kind === 'throws');
  return text.length + 2 * odd + 15 * found.steps.length + (failed ? 120 : 0) - (found.wanted ? 60 : 0) + (found.outcome.result.kind === 'instance' && found.target.kind === 'function' ? 60 : 0);
}

class Choice {
  constructor(search) {
    this.search = search;
    this.faults = search.faults;
    this.pool = [...search.cases.values()].flat();
    for (const found of this.pool) Object.assign(found, { weight: weight(found), kills: new Set() });
    this.pool.sort((a, b) => a.weight - b.weight);
    this.kept = [];
    this.killed = 0;
    this.survivors = [];
  }

  async run() {
    this.cover();
    if (this.faults.sites.length > 0) {
      await this.kill();
      await this.aim();
    }
    await this.shrink();
  }

  // A few plain cases that reach all that the pool does, beyond what tests of the project reach.
  cover() {
    const { cover } = this.search;
    const chosen = (list) => {
      const missed = cover.start();
      return list.filter((found) => {
        const isNew = cover.isNew(found.reached, missed);
        if (isNew) cover.learn(found.reached, missed);
        return isNew;
      });
    };
    const first = chosen(this.pool);
    // What came last may do what those before it did.
    this.kept = chosen([...first].reverse()).reverse();
    // Where not all faults could be planted, a few more of each path stand in for them.
    if (this.search.cover === this.search.counters && this.search.known.length === 0) this.kept = this.several();
  }

  several() {
    const counts = new Map();
    return this.pool.filter((found) => {
      const key = `${found.target.name}\n${found.path}`;
      const count = (counts.get(key) || 0) + 1;
      counts.set(key, count);
      return this.kept.includes(found) || (count <= PER_PATH && found.outcome.result.kind !== 'throws');
    });
  }

  // What a test of this case would say.
  face(found, outcome) {
    const made = body({ ...found, outcome }, this.search);
    return made === null ? null : made.lines.join('\n');
  }

  noticed(found, outcome) {
    if (!outcome || !outcome.result || ['hangs', 'overflows', 'forbidden'].includes(outcome.result.kind)) return true;
    if (found.face === undefined) found.face = this.face(found, found.outcome);
    return this.face(found, outcome) !== found.face;
  }

  // The first of some cases that comes out differently with a fault.
  async noticing(id, cases) {
    const { search, faults: { state } } = this;
    let at = 0;
    let hit = null;
    const look = () => {
      for (const until = Math.min(cases.length, at + AT_ONCE); at < until && !cases[at].target.promises; at += 1) {
        search.trail(cases[at], true);
        if (this.noticed(cases[at], direct(cases[at], search.evaluator))) {
          hit = cases[at];
          return;
        }
      }
    };
    state.active = id;
    try {
      while (at < cases.length && hit === null) {
        let alone = cases[at].target.promises;
        try {
          if (!alone) timed(look, WATCH_MS);
        } catch {
          alone = true;
        }
        if (alone && hit === null) {
          search.trail(cases[at], true);
          if (this.noticed(cases[at], await once(cases[at], search.evaluator))) return cases[at];
          at += 1;
        }
      }
    } finally {
      state.active = -1;
    }
    return hit;
  }

  // Whether a test of the project notices a fault.
  async isKnown(id, tests) {
    const { search, faults: { state } } = this;
    state.active = id;
    try {
      for (const test of tests) {
        search.trail({ target: { name: test.name, kind: 'function', expression: test.name }, args: [], steps: [] }, true);
        if (!(await passes(test))) return true;
      }
    } finally {
      state.active = -1;
    }
    return false;
  }

  // Faults by who comes by them.
  async kill() {
    const { search } = this;
    const byFault = new Map(this.faults.sites.filter((site) => search.isWanted(site.line)).map((site) => [site.id, { site, cases: [], tests: [] }]));
    for (const found of this.pool) {
      search.trail(found);
      this.faults.clear();
      const outcome = await again(found, search.evaluator);
      // What comes out differently now depends on what was called before.
      if (this.noticed(found, outcome)) found.unsteady = true;
      else for (const id of this.faults.taken()) if (byFault.has(id)) byFault.get(id).cases.push(found);
    }
    this.kept = this.kept.filter((found) => !found.unsteady);
    for (const test of search.known) for (const id of test.hits) if (byFault.has(id)) byFault.get(id).tests.push(test);
    const todo = shuffled([...byFault.values()].filter(({ cases, tests }) => cases.length + tests.length > 0), search.random);
    for (const entry of todo) {
      if (search.late(AIM_SHARE)) break;
      await this.judge(entry);
    }
  }

  async judge(entry) {
    const { site, cases, tests } = entry;
    if (await this.isKnown(site.id, tests.slice(0, MOST_KNOWN))) {
      this.killed += 1;
      return;
    }
    const first = cases.filter((found) => this.kept.includes(found));
    const others = cases.filter((found) => !this.kept.includes(found));
    const killer = await this.noticing(site.id, [...first, ...others.slice(0, MOST_TRIES)]);
    if (killer === null) this.survivors.push(entry);
    else this.credit(killer, site.id);
  }

  credit(killer, id) {
    this.killed += 1;
    killer.kills.add(id);
    if (!this.kept.includes(killer)) this.kept.push(killer);
  }

  // Varies the calls that come by a fault until one notices it.
  async aim() {
    const { search } = this;
    for (let quiet = 0; quiet < MOST_QUIET && this.survivors.length > 0 && !search.late(AIM_SHARE); quiet += 1) {
      const entry = search.random.pick(this.survivors);
      if (entry.cases.length === 0) continue;
      if (await this.vary(entry)) quiet = 0;
    }
  }

  async vary(entry) {
    const { search } = this;
    const parents = entry.cases.slice(0, 60);
    const calls = [];
    const pairs = new Map();
    for (let n = 0; n < BATCH; n += 1) {
      const parent = search.random.pick(parents);
      if (n === 0 && !parent.target.promises) pairs.set(parent, aimed(parent, this.faults.compared(() => timedOrNot(() => direct(parent, search.evaluator))), (list) => search.evaluator.of(list)));
      const near = pairs.get(parent);
      const call = near && near.length > 0 && search.random.oneIn(2) ? search.random.pick(near) : search.random.oneIn(6) ? search.made.fresh(parent.target) : search.made.near(parent);
      if (!search.skip.has(search.label(call)) && shown(call).length <= 160) calls.push(call);
    }
    const found = await this.tried(calls);
    let success = false;
    for (const open of [...this.survivors]) {
      const reaching = found.filter((one) => one.hits.has(open.site.id)).slice(0, FEW);
      if (reaching.length === 0) continue;
      const killer = await this.noticing(open.site.id, reaching);
      if (killer === null || !(await search.stable(killer, JSON.stringify(killer.outcome)))) continue;
      const [{ reached }] = await search.looked([killer]);
      this.credit(Object.assign(killer, { reached, path: reached.path }), open.site.id);
      this.survivors.splice(this.survivors.indexOf(open), 1);
      for (const other of this.survivors) if (killer.hits.has(other.site.id)) other.cases.unshift(killer);
      success = true;
      if (search.late(AIM_SHARE)) break;
    }
    return success;
  }

  // Calls with what came of them and the faults that they come by, plain ones first.
  async tried(calls) {
    const { search, faults } = this;
    const hits = [];
    const outcomes = many(calls, search.evaluator, (call) => {
      search.trail(call);
      faults.clear();
    }, () => hits.push(new Set(faults.taken())));
    const found = [];
    for (const [at, outcome] of outcomes.entries()) {
      if (!outcome || outcome.promise || search.unfit(calls[at], outcome)) continue;
      const failed = outcome.result.kind === 'throws';
      const made = { ...calls[at], outcome, hits: hits[at], kills: new Set(), wanted: false, news: false };
      if (!failed && this.face(made, outcome) !== null) found.push({ ...made, weight: weight(made) });
    }
    return found.sort((a, b) => a.weight - b.weight);
  }

  // Puts plainer calls in place of those that are kept; what people wrote stays as it is.
  async shrink() {
    const { search } = this;
    for (const [at, found] of this.kept.entries()) {
      if (found.wanted || search.late()) continue;
      let best = found;
      for (let round = 0; round < MOST_PLAINER && !search.late(); round += 1) {
        const better = await this.plainer(best);
        if (better === null) break;
        best = better;
      }
      this.kept[at] = best;
    }
  }

  async plainer(found) {
    const { search } = this;
    const { outcome, path } = found;
    const others = [];
    const declared = isDeclared(search, found);
    for (const other of search.made.plainer(found, (sources) => search.evaluator.of(sources))) {
      // What fits the declared types shall go on to do so.
      if (!search.skip.has(search.label(other)) && (!declared || isDeclared(search, other))) others.push(other);
      if (others.length >= BATCH) break;
    }
    for (const { call, outcome: came, reached } of await search.looked(others)) {
      const alike = came && came.result && came.result.kind === outcome.result.kind && came.result.name === outcome.result.name && reached.path === path;
      if (!alike) continue;
      const made = { ...found, ...call, outcome: came, face: undefined };
      if (this.kept.some((one) => one !== found && shown(one) === shown(made))) continue;
      if ((await this.notices(made, found.kills)) && (await search.stable(call, JSON.stringify(came)))) return made;
    }
    return null;
  }

  async notices(made, ids) {
    for (const id of ids) if ((await this.noticing(id, [made])) === null) return false;
    return true;
  }
}

function timedOrNot(work) {
  try {
    timed(work);
  } catch {
    // What was compared until then is enough.
  }
}

function shuffled(list, random) {
  for (let at = list.length - 1; at > 0; at -= 1) {
    const other = random.below(at + 1);
    [list[at], list[other]] = [list[other], list[at]];
  }
  return list;
}

// Leaves the cases that are worth a test, and answers how many faults they notice.
async function choose(search) {
  const choice = new Choice(search);
  await choice.run();
  for (const name of search.cases.keys()) search.cases.set(name, choice.kept.filter((found) => found.target.name === name));
  return { killed: choice.killed, survivors: choice.survivors.map(({ site }) => [site.line, site.what]) };
}

module.exports = { choose };
