// Searches for calls on which two versions of a module differ. The search generates calls as source text, and both versions
// run them; what they reach of the changed code, and what they compare there, guides it.
'use strict';

const { CallGenerator, callText } = require('./cases.cjs');
const { callsFromComparisons } = require('./comparisons.cjs');
const { kindOfAnswers, shapeOf } = require('./compare_outcomes.cjs');
const { runBoth } = require('./compare_versions.cjs');
const examples = require('./examples.cjs');
const { seededRandom } = require('./random.cjs');
const { tokenise } = require('./tokens.cjs');
const { Values } = require('./values.cjs');

const BATCH = 48;
const MAX_LENGTH = 400;
const MAX_KEPT = 80;
const MAX_GROUPS = 60;
const MAX_SEEDS = 2000;
const PER_GROUP = 4;
const MAX_AIMED = 400;
// How much more calls of a target cost that never enters a function with changed lines.
const FAR_COST = 6;
const TRIED = 200;
const EXHAUSTED = 8000;
const MAX_UNSTABLE = 3;
// Calls that do not end take long: a target with this many is left alone.
const MAX_HUNG = 3;
// The share of the budget after which a search that found something, and finds nothing new, ends.
const QUIET_SHARE = 0.3;
// Calls without anything new that end a search which reached all changed code, and more for each branch of that code. The
// first pair is for a quick comparison.
const ENOUGH = [[1500, 60], [6000, 200]];
// How many calls that behave the same are tried with large arguments, and how large these are.
const STRETCHED = 12;
const LONG = 300;
const LARGE = 2000;
const AROUND = 2;
const MAX_RETURNED = 4;
// Pieces of tests that are varied.
const MAX_SNIPPETS = 40;

// What a call tried and the sandbox refused, or null.
function refusal({ result }) {
  const found = result && result.kind === 'forbidden' && /^the code (tries to .*)/.exec(result.text);
  return found ? found[1] : null;
}

class CompareSearch {
  constructor(versions, described, request) {
    this.versions = versions;
    this.request = request;
    this.random = seededRandom(request.seed + 1);
    const before = new Map(described.old.targets.map((target) => [target.name, target]));
    const isCommon = (target) => before.has(target.name) && before.get(target.name).kind === target.kind;
    this.targets = described.new.targets.filter(isCommon).map((target) => ({ ...commonSteps(target, before.get(target.name)), examples: [], statedResults: [], value: {}, cost: 0, quiet: 0, tried: 0, unstable: 0, kept: [] }));
    this.byName = new Map(this.targets.map((target) => [target.name, target]));
    this.values = new Values(this.random, merged(request.constants), (name, depth) => this.generator.instance(name, depth));
    this.generator = new CallGenerator(this.random, this.values, this.targets);
    this.values.prefer(constantsNear(request.changed_texts));
    const words = request.texts.flatMap(examples.quotedWords);
    this.values.learn({ regexes: [], strings: words, words });
    examples.collectExamples(this.targets, ['', ...request.texts]);
    this.leads = [];
    this.groups = new Map();
    this.aimedCalls = new Map();
    this.calls = 0;
    this.same = 0;
    // What runs at load may matter to every function.
    this.atLoad = request.changed.some((file) => file.at_import);
    this.aimless = described.new.sites.length === 0 && described.old.sites.length === 0;
    this.lastFind = 0;
    this.lastNew = 0;
    const changed = (sites) => new Set(sites.filter((site) => site.changed).map((site) => site.id));
    this.open = { before: changed(described.old.sites), after: changed(described.new.sites) };
    this.branches = new Set();
    this.dropped = new Map();
    this.seenTexts = new Set();
  }

  // Processor time of the slower version, in milliseconds.
  used() {
    return Math.max(...this.versions.all.map((version) => version.spent + version.cpu));
  }

  isOutOfTime() {
    const used = this.used() - this.began;
    if (used > this.request.budget * 1000 || Date.now() > this.until) return true;
    if (this.isSaturated()) return true;
    return this.groups.size > 0 && used - this.lastFind > QUIET_SHARE * this.request.budget * 1000;
  }

  // Whether all changed code was reached, and many calls showed nothing new.
  isSaturated() {
    if (this.open.before.size > 0 || this.open.after.size > 0) return false;
    const [enough, perBranch] = ENOUGH[this.request.quick ? 0 : 1];
    const size = this.branches.size + (this.aimless || this.atLoad ? 10 * this.targets.length : 0);
    const patience = this.groups.size > 0 ? 1 : 3;
    return this.calls - this.lastNew > patience * (enough + perBranch * size);
  }

  // Adds functions that the module does not export.
  addTargets(targets) {
    for (const target of targets) {
      this.targets.push(target);
      this.byName.set(target.name, target);
    }
  }

  // A call as it is sent.
  sent({ target, args, steps, factory }) {
    return { target: target.name, expression: target.returned ? target.expression : undefined, args, steps, factory: factory && factory.name };
  }

  async both(calls) {
    const lengthOf = (call) => (call.target.snippet ? call.args.join('') : callText(call)).length;
    const some = calls.filter((call) => lengthOf(call) <= MAX_LENGTH);
    const pairs = await runBoth(this.versions, some.map((call) => this.sent(call)));
    return pairs.map((pair, at) => ({ ...pair, call: some[at] }));
  }

  // Runs calls that were not tried yet. Returns how many found something.
  async attempt(calls) {
    const fresh = calls.filter((call) => {
      if ((call.target.hung || 0) >= MAX_HUNG) return false;
      const text = callText(call);
      if (this.seenTexts.has(text)) return false;
      if (this.seenTexts.size < 200000) this.seenTexts.add(text);
      return true;
    });
    let found = 0;
    for (const pair of await this.both(fresh)) if (this.note(pair)) found += 1;
    return found;
  }

  // Looks at one pair of answers. Returns whether it shows something new.
  note(pair) {
    const { call, before, after } = pair;
    const { target } = call;
    this.calls += 1;
    target.tried += 1;
    if (!before || !after) return false;
    this.noteRefused(target, before, after);
    if ([before, after].some(({ outcome }) => outcome.result && ['hangs', 'crash'].includes(outcome.result.kind))) target.hung = (target.hung || 0) + 1;
    const aimed = before.aimed.length > 0 || after.aimed.length > 0;
    const path = `${target.name} ${before.path} ${after.path}`;
    if (aimed) {
      this.noteBranches(before.aimed, 'before');
      this.noteBranches(after.aimed, 'after');
      target.isNear = true;
      target.way = target.way || `${before.path} ${after.path}`;
      if (!this.aimedCalls.has(path) && this.aimedCalls.size < MAX_AIMED) this.aimedCalls.set(path, call);
    }
    const reachedNew = before.fresh.length > 0 || after.fresh.length > 0;
    if (reachedNew) this.lastNew = this.calls;
    const works = after.outcome.result && after.outcome.result.kind !== 'throws';
    if (reachedNew || (aimed && !this.knownPath(path))) {
      if (target.kept.length < MAX_KEPT) target.kept.push(call);
      else target.kept[this.random.below(MAX_KEPT)] = call;
      if (this.leads.length < 200) this.leads.push(call);
      if (works) this.generator.remember(call);
    }
    this.addReturned(call, after.outcome);
    const kind = kindOfAnswers(before, after);
    if (kind === null) {
      if (aimed) this.same += 1;
      return reachedNew;
    }
    return this.addDifference(kind, pair) || reachedNew;
  }

  // Remembers what the sandbox refuses, if only one version tries it, or if no call of changed code returns.
  noteRefused(target, before, after) {
    if (target.snippet) return;
    const aimed = before.aimed.length > 0 || after.aimed.length > 0;
    const [old, now] = [before, after].map(({ outcome }) => refusal(outcome));
    if (old === null && now === null) {
      if (aimed && after.outcome.result && after.outcome.result.kind !== 'throws') target.returnsSome = true;
    } else if (old === null || now === null) this.dropped.set(target.name, `with some inputs, the ${now === null ? 'old' : 'new'} version ${now === null ? old : now}, which the sandbox refuses`);
    else if (aimed) target.refused = now;
  }

  // What was not compared, and why.
  left() {
    const refused = this.targets.filter((target) => target.refused && !target.returnsSome && !this.dropped.has(target.name));
    return [...[...this.dropped].map(([what, why]) => ({ what, why })), ...refused.map((target) => ({ what: target.name, why: `it ${target.refused}, which the sandbox refuses` }))];
  }

  noteBranches(aimed, side) {
    for (const branch of aimed) {
      this.open[side].delete(branch >> 1);
      if (this.branches.has(`${side} ${branch}`)) continue;
      this.branches.add(`${side} ${branch}`);
      this.lastNew = this.calls;
    }
  }

  knownPath(path) {
    this.paths = this.paths || new Set();
    if (this.paths.has(path)) return true;
    if (this.paths.size < 5000) this.paths.add(path);
    return this.paths.size >= 5000;
  }

  // A function that a function returns is a target of its own.
  addReturned(call, outcome) {
    const { target } = call;
    if (target.kind !== 'function' || !outcome.result || outcome.result.kind !== 'type' || target.returned || outcome.async) return;
    target.returns = target.returns || 0;
    if (target.returns >= MAX_RETURNED) return;
    const expression = callText(call);
    if (expression.length > 120) return;
    target.returns += 1;
    const returned = {
      kind: 'function', name: expression, expression, aliases: [], returned: true, line: target.line, value: {}, examples: [], statedResults: [],
      params: [{ name: 'value', type: { kind: 'any' }, optional: false }, { name: 'other', type: { kind: 'any' }, optional: true }],
      cost: 0, quiet: 0, tried: 0, unstable: 0, kept: [], isNear: target.isNear,
    };
    this.targets.push(returned);
    this.byName.set(expression, returned);
  }

  addDifference(kind, pair) {
    const { call, before, after } = pair;
    const key = `${call.target.name}|${kind}|${before.aimed}|${after.aimed}|${shapeOf(pair)}`;
    let group = this.groups.get(key);
    const isNew = group === undefined;
    if (isNew) {
      if (this.groups.size >= MAX_GROUPS) return false;
      group = { key, kind, target: call.target, pairs: [], count: 0 };
      this.groups.set(key, group);
      this.lastFind = this.used() - this.began;
      this.lastNew = this.calls;
    }
    group.count += 1;
    group.pairs.push(pair);
    group.pairs.sort((one, other) => callText(one.call).length - callText(other.call).length);
    group.pairs.length = Math.min(group.pairs.length, PER_GROUP);
    return isNew;
  }

  nextCall(target) {
    if (target.kept.length === 0 || this.random.oneIn(3)) return this.generator.newCall(target);
    const at = this.random.oneIn(2) ? target.kept.length - 1 - this.random.below(Math.min(target.kept.length, 6)) : this.random.below(target.kept.length);
    return this.generator.variant(target.kept[at]);
  }

  // Calls that people wrote, and those that tests made.
  async trySeeds() {
    const calls = [];
    for (const target of this.targets) {
      if (!target.snippet) calls.push(this.generator.minimal(target));
      for (const args of target.examples.slice(0, 200)) calls.push({ target, args, steps: [] });
      if (target.kind === 'class') for (const step of target.steps) for (const args of (step.examples || []).slice(0, 20)) calls.push({ target, args: target.examples[0] || [], steps: [{ how: step.how, name: step.name, args }] });
    }
    for (const { name, args } of this.request.recorded) {
      const target = this.byName.get(name);
      if (target && target.kind === 'function') {
        calls.push({ target, args, steps: [] });
        if (target.examples.length < 400) target.examples.push(args);
      }
    }
    const some = calls.slice(0, MAX_SEEDS);
    for (let at = 0; at < some.length && Date.now() < this.until; at += BATCH) await this.attempt(some.slice(at, at + BATCH));
    this.keepNearSnippets();
  }

  // Pieces of tests that do not reach changed code, or only on the way of another one, take time and show nothing.
  keepNearSnippets() {
    const ways = new Set();
    this.targets = this.targets.filter((target) => {
      if (!target.snippet) return true;
      if (this.aimless || this.atLoad) return ways.add(target.name).size <= MAX_SNIPPETS;
      if (!target.isNear || ways.size >= MAX_SNIPPETS) return false;
      const known = ways.size;
      return ways.add(target.way).size > known;
    });
  }

  // Tries variants of a call by what it compared in either version.
  async followLead() {
    const call = this.leads.shift();
    if ((call.target.hung || 0) >= MAX_HUNG) return 0;
    const answers = await Promise.all(this.versions.all.map((version) => version.ask({ op: 'compared', call: this.sent(call) }).catch(() => null)));
    const pairs = [];
    for (const answer of answers.filter(Boolean)) {
      for (const pair of answer.pairs) if (!pair.includes(null)) pairs.push(pair.map((source) => new Function(`return (${source});`)()));
      this.values.learn(answer.lookups);
    }
    return this.attempt(callsFromComparisons(call, pairs, (sources) => sources.map((source) => new Function(`return (${source});`)())));
  }

  // Whether the versions repeat what they did, with another clock and other random numbers.
  async isStable({ call, before, after }) {
    const answers = await Promise.all(this.versions.all.map((version, at) => {
      const expected = JSON.stringify((at === 0 ? before : after).outcome);
      return version.ask({ op: 'stable', call: this.sent(call), expected }).catch(() => false);
    }));
    return answers.every(Boolean);
  }

  // Drops targets whose results change from call to call.
  async checkGroups() {
    for (const group of this.groups.values()) {
      if (group.checked || ['hang', 'crash'].includes(group.kind)) continue;
      group.checked = true;
      if (await this.isStable(group.pairs[0])) continue;
      this.groups.delete(group.key);
      group.target.unstable += 1;
      if (group.target.unstable >= MAX_UNSTABLE) this.dropped.set(group.target.name, 'its results change from call to call');
    }
  }

  async run(until) {
    this.until = until;
    this.began = this.used();
    await this.trySeeds();
    await this.checkGroups();
    for (let round = 0; !this.isOutOfTime(); round += 1) {
      if (this.leads.length > 0 && round % 2 === 0) {
        await this.followLead();
        continue;
      }
      const active = this.targets.filter((target) => target.quiet < EXHAUSTED && target.unstable < MAX_UNSTABLE && (target.hung || 0) < MAX_HUNG);
      if (active.length === 0) break;
      const target = active.reduce((least, other) => (other.cost < least.cost ? other : least));
      const calls = [];
      const size = target.tried < BATCH || target.hung ? 4 : BATCH;
      for (let n = 0; n < size; n += 1) calls.push(this.nextCall(target));
      const isFar = !this.aimless && !this.atLoad && !target.isNear && target.tried >= TRIED;
      target.cost += isFar ? FAR_COST * size : size;
      target.quiet = (await this.attempt(calls)) > 0 ? 0 : target.quiet + size;
      if (round % 16 === 0) await this.checkGroups();
    }
    await this.stretch();
    await this.checkGroups();
  }

  // Tries calls that behave the same with large arguments, which show a slow-down.
  async stretch() {
    const calls = [...this.aimedCalls.values()].filter((call) => call.args.length > 0);
    const larger = calls.map(stretched).filter((some) => some.length > 0).slice(0, STRETCHED).flat();
    for (let at = 0; at < larger.length && Date.now() < this.until; at += 4) await this.attempt(larger.slice(at, at + 4));
  }

  // The smallest call of a group that still differs in the same way.
  async reduce(group, until) {
    let [best] = group.pairs;
    if (['hang', 'crash'].includes(group.kind)) return best;
    const evaluate = (sources) => sources.map((source) => new Function(`return (${source});`)());
    const sizeOf = (call) => callText(call).length;
    const isSame = (pair) => pair.before && pair.after && kindOfAnswers(pair.before, pair.after) === group.kind && shapeOf(pair) === shapeOf(best);
    for (let round = 0; round < 20 && Date.now() < until; round += 1) {
      const simpler = [];
      for (const call of this.generator.simplerCalls(best.call, evaluate)) {
        if (sizeOf(call) < sizeOf(best.call)) simpler.push(call);
        if (simpler.length >= 60) break;
      }
      if (simpler.length === 0) break;
      const good = (await this.both(simpler)).filter(isSame).sort((one, other) => sizeOf(one.call) - sizeOf(other.call));
      if (good.length === 0) break;
      [best] = good;
    }
    return best;
  }
}

// Only what both versions have can be called in both.
function commonSteps(target, other) {
  if (target.kind !== 'class') return target;
  const known = new Set(other.steps.map((step) => `${step.how} ${step.name}`));
  return { ...target, steps: target.steps.filter((step) => known.has(`${step.how} ${step.name}`)), factories: (target.factories || []).filter((one) => (other.factories || []).some((old) => old.name === one.name)) };
}

// Copies of a call with one argument made large.
function stretched(call) {
  return call.args.flatMap((source, at) => {
    let larger = null;
    if (/^(['"]).+\1$/.test(source)) larger = `${source}.repeat(${LONG})`;
    else if (/^\[.+\]$/.test(source)) larger = `Array(${LONG}).fill(${source}).flat()`;
    else if (/^[1-9]\d*$/.test(source)) larger = String(LARGE);
    return larger === null ? [] : [{ ...call, args: call.args.map((other, index) => (index === at ? larger : other)) }];
  });
}

function merged(list) {
  const all = (name) => [...new Set(list.flatMap((constants) => (constants && constants[name]) || []))];
  return { numbers: all('numbers').map(Number).filter(Number.isFinite), strings: all('strings'), regexes: all('regexes') };
}

// Constants on changed lines and around them.
function constantsNear(texts) {
  const found = { numbers: new Set(), strings: new Set(), regexes: new Set() };
  for (const { text, lines } of texts) {
    const split = text.split('\n');
    for (const [first, last] of lines) {
      const tokens = [...tokenise(split.slice(Math.max(0, first - 1 - AROUND), last + AROUND).join('\n'))];
      for (const [at, { kind, text: word }] of tokens.entries()) {
        // The keys of tables are inputs of what reads them.
        if (/^[A-Za-z_$][\w$]*$/.test(word) && at + 1 < tokens.length && tokens[at + 1].text === ':') found.strings.add(word);
        if (kind === 'number') found.numbers.add(Number(word));
        else if (kind === 'string') found.strings.add(word.slice(1, -1));
        else if (kind === 'regex') found.regexes.add(word.slice(1, word.lastIndexOf('/')));
      }
    }
  }
  return { numbers: [...found.numbers].filter(Number.isFinite), strings: [...found.strings].filter((text) => text !== '' && text.length <= 40), regexes: [...found.regexes] };
}

module.exports = { CompareSearch };
