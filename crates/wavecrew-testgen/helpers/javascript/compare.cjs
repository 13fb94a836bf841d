// Compares two versions of a module: starts them, searches, confirms in new processes, and prints JSON lines. The request is
// a JSON file.
'use strict';

const fs = require('node:fs');
const os = require('node:os');
const { join } = require('node:path');
const { repeats } = require('./compare_outcomes.cjs');
const { rankedTests, recordCalls } = require('./compare_recording.cjs');
const { ComparisonReport } = require('./compare_report.cjs');
const { CompareSearch } = require('./compare_search.cjs');
const { snippetsOf } = require('./compare_snippets.cjs');
const { HANGS, runBoth, startBoth } = require('./compare_versions.cjs');

// Shares of the time that is left when the versions are loaded.
const SEARCH_SHARE = 0.6;
const REDUCE_SHARE = 0.5;
const MAX_REDUCED = 16;
const STOP_MS = 8000;
const MAX_CONFIRMED = 48;
// Nothing is confirmed in the time zone of the search.
const SEARCH_ZONE = 'UTC';
const CONFIRM_ZONES = ['America/New_York', 'Asia/Kolkata'];

const print = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

class Comparison {
  constructor(request) {
    this.request = request;
    this.began = Date.now();
    this.until = this.began + request.seconds_left * 1000;
    this.scratch = fs.mkdtempSync(join(os.tmpdir(), 'c-'));
    this.commands = request.commands;
    this.isStopped = false;
  }

  // Ends the search. What it found is confirmed in a few seconds.
  stop() {
    this.isStopped = true;
    this.until = Math.min(this.until, Date.now() + STOP_MS);
    if (this.search) this.search.until = Date.now();
  }

  start(confirm, zone) {
    const { request } = this;
    return startBoth((side) => {
      const root = request[`${side}_root`];
      const changed = request.changed.map((file) => ({ path: join(root, file.file), lines: file[`${side}_lines`] }));
      const startMs = Math.max(5000, Math.min(60000, 0.5 * (this.until - Date.now())));
      return {
        command: this.commands[side], folder: request.packages[side], scratch: this.scratch, zone, startMs,
        plan: { ...request.outlines[side], identifier: request.identifier, module: join(root, request.file), root, roots: [request.old_root, request.new_root], side, changed, confirm },
      };
    });
  }

  // Starts the versions in the first way that can load both.
  async load() {
    try {
      return await this.start(false, SEARCH_ZONE);
    } catch (error) {
      const { fallback } = this.request;
      if (!fallback || !error.failed || error.failed.some(({ why }) => why === HANGS)) throw error;
      this.commands = fallback;
      return this.start(false, SEARCH_ZONE).catch(() => {
        throw error;
      });
    }
  }

  async describe(versions) {
    const [before, after] = await Promise.all(versions.all.map((version) => version.ask({ op: 'describe' })));
    return { old: before, new: after };
  }

  async run() {
    const { request } = this;
    request.recorded = await recordCalls(request, this.scratch, print);
    print({ progress: 'loading both versions' });
    const startedAt = Date.now();
    const versions = await this.load();
    const startTook = Date.now() - startedAt;
    const described = await this.describe(versions);
    const search = new CompareSearch(versions, described, request);
    search.addTargets(snippetsOf(request.new_root, rankedTests(request), request.file));
    this.search = search;
    const report = new ComparisonReport(request, described, search);
    try {
      // New processes must load both versions again.
      const left = Math.max(1000, this.until - Date.now() - 1.5 * startTook);
      print({ progress: 'searching' });
      if (search.targets.length > 0 && !this.isStopped) await search.run(Date.now() + left * SEARCH_SHARE);
      const reduced = await this.reduce(search, this.isStopped ? 0 : Date.now() + left * (1 - SEARCH_SHARE) * REDUCE_SHARE);
      for (const version of versions.all) version.end('done');
      print({ searched: { calls: search.calls, differ: reduced.length } });
      if (reduced.length > 0) print({ progress: `confirming ${reduced.length} ${reduced.length === 1 ? 'input' : 'inputs'}` });
      await this.confirm(reduced, search, report);
    } finally {
      for (const version of versions.all) version.end('done');
    }
    print({ test_files: report.tests() });
    return report.outcome((Date.now() - this.began) / 1000);
  }

  // One small call for each group; the simplest first.
  async reduce(search, until) {
    const groups = [...search.groups.values()].sort((one, other) => cost(one) - cost(other));
    const found = [];
    for (const [at, group] of groups.slice(0, MAX_CONFIRMED).entries()) {
      const pair = at < MAX_REDUCED && Date.now() < until ? await search.reduce(group, until) : group.pairs[0];
      found.push({ ...pair, kind: group.kind, count: group.count });
    }
    return found;
  }

  // Repeats all differing calls in new processes, in other time zones and orders. Those that repeat are reported.
  async confirm(reduced, search, report) {
    const aimed = [...search.aimedCalls.values()];
    const wanted = [...reduced.map(({ call }) => call)];
    const calls = [...wanted].reverse();
    let confirmed = reduced;
    for (const [at, zone] of CONFIRM_ZONES.entries()) {
      if (at > 0 && (confirmed.length === 0 || Date.now() > this.until - 3000)) break;
      const versions = await this.start(true, zone);
      try {
        if (at === 0) {
          const loads = await Promise.all(versions.all.map((version) => version.ask({ op: 'loaded' })));
          report.atLoad(loads[0], loads[1]);
        }
        // The order is another one each time.
        const order = at === 0 ? calls : wanted;
        const pairs = await runBoth(versions, order.map((call) => search.sent(call)));
        const again = new Map(pairs.map((pair, index) => [order[index], pair]));
        confirmed = confirmed.filter((one) => repeats(one, again.get(one.call)));
        // What is shown comes from code that is not instrumented.
        for (const one of confirmed) {
          const pair = again.get(one.call);
          Object.assign(one, { before: pair.before, after: pair.after, lines: linesOf(pair) });
        }
        if (at === 0) {
          for (const one of confirmed) report.reached(one.lines);
          for (let from = 0; from < aimed.length && Date.now() < this.until - 1000; from += 40) {
            const some = aimed.slice(from, from + 40);
            for (const [index, pair] of (await runBoth(versions, some.map((call) => search.sent(call)))).entries()) {
              report.reached(linesOf(pair));
              report.addSame({ ...pair, call: some[index] });
            }
          }
        }
      } finally {
        for (const version of versions.all) version.end('done');
      }
    }
    for (const one of report.grouped(confirmed)) print({ difference: one });
  }
}

function cost({ kind, pairs }) {
  const { outcome } = pairs[0].after;
  const odd = outcome.result && outcome.result.kind === 'throws' ? 100 : 0;
  return odd + (['hang', 'crash'].includes(kind) ? 1000 : 0) + pairs[0].call.args.join(', ').length + 20 * pairs[0].call.steps.length;
}

function linesOf({ before, after }) {
  return { old: (before && before.lines) || {}, new: (after && after.lines) || {} };
}

async function main() {
  const request = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
  const comparison = new Comparison(request);
  process.on('SIGINT', () => comparison.stop());
  try {
    print({ outcome: await comparison.run() });
  } catch (error) {
    const failed = error.failed || [{ side: '', why: (error && error.stack) || String(error) }];
    const left = failed.map(({ side, why }) => ({ what: request.file, why: side === '' ? `the comparison failed: ${why}` : `the ${side} version cannot be loaded: ${why}` }));
    print({ outcome: { file: request.file, left_out: left, seconds: (Date.now() - comparison.began) / 1000 } });
  }
  process.exit(0);
}

module.exports = { Comparison };

if (require.main === module) main();
