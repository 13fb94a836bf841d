// One version of a module, loaded once, which runs the calls that the comparison sends. Two of these run side by side, one
// for each version. Messages are lines of JSON on a socket.
'use strict';

const fs = require('node:fs');
const { createRequire } = require('node:module');
const { connect } = require('node:net');
const os = require('node:os');
const { join } = require('node:path');
const { createInterface } = require('node:readline');
const { pathToFileURL } = require('node:url');
const { ChangedCode } = require('./compare_tracing.cjs');
const { literal } = require('./literals.cjs');
const { showAll } = require('./observe.cjs');
const { observeLookups } = require('./probes.cjs');
const { Evaluator, cpuTime, isEndless, rerun, runBatch, runUnwatched, runWatched, withTimeout } = require('./run.cjs');
const { Forbidden, blockProcessAccess, blockWritesAndOutput } = require('./sandbox.cjs');
const { watchBuiltins, watchPrototypes } = require('./process_state.cjs');
const { isStable } = require('./stability.cjs');
const { findTargets } = require('./targets.cjs');

const MAX_OUTPUT = 2000;
const MAX_FILE = 1000;
// Error codes of writing outside of temporary folders.
const UNWRITABLE = new Set(['EROFS', 'EACCES', 'EPERM']);

class Worker {
  constructor(subject, plan, restoreBuiltins, code) {
    this.subject = subject;
    this.plan = plan;
    this.code = code;
    const fromRoot = createRequire(join(plan.root, 'package.json'));
    const load = (file) => (join(plan.root, file) === plan.module ? subject : fromRoot(join(plan.root, file)));
    this.evaluator = new Evaluator(subject, restoreBuiltins, { load, require: fromRoot });
    this.targets = new Map(findTargets(subject, plan).map((target) => [target.name, target]));
    this.folder = fs.mkdtempSync(join(fs.realpathSync(os.tmpdir()), 'files-'));
    this.output = '';
    this.wrote = false;
    this.preloaded = new Set();
    this.takeAdded = watchPrototypes();
  }

  // The targets without what cannot be sent.
  describe() {
    const plain = ({ name, kind, aliases, expression, params, line, steps, getters, factories }) => ({
      name, kind, aliases, expression, params, line, steps, getters,
      factories: factories && factories.map((one) => ({ name: one.name, expression: one.expression, params: one.params })),
    });
    return {
      targets: [...this.targets.values()].map(plain),
      isFunction: typeof this.subject === 'function',
      hasDefault: Boolean(this.subject) && this.subject.default !== undefined,
      mainName: mainName(this.subject),
      exports: Object.keys(this.subject || {}),
      sites: this.code.sites(),
    };
  }

  // A call as `run.cjs` takes it. Functions that other functions return are known by their expression only.
  resolve({ target, expression, args, steps, factory }) {
    let found = this.targets.get(target);
    if (!found && expression) {
      this.preload(expression);
      const [value] = this.evaluator.of([expression]);
      if (typeof value !== 'function') return null;
      found = { kind: 'function', name: target, expression, value, params: [] };
    }
    if (!found) return null;
    const made = factory && found.factories ? found.factories.find((one) => one.name === factory) : undefined;
    if (factory && !made) return null;
    return { target: found, args, steps, factory: made };
  }

  // Loads what a piece of a test loads. That may take long, and its time is limited later.
  preload(expression) {
    if (this.preloaded.has(expression)) return;
    this.preloaded.add(expression);
    for (const [, how, , path] of expression.matchAll(/\b(require|load)\((['"])(.+?)\2\)/g)) {
      try {
        this.evaluator.modules[how](path);
      } catch {
        // The call says it.
      }
    }
  }

  // The answer to a call: its outcome without the paths of the copies, and what was reached. Arguments that tests passed may
  // name the folder of the other version.
  answered(outcome, seen) {
    const answer = merged(outcome, seen);
    if (answer === null) return null;
    const text = JSON.stringify(answer.outcome);
    const named = this.plan.roots.filter((root) => text.includes(root));
    if (named.length === 0) return answer;
    return { ...answer, outcome: JSON.parse(named.reduce((shown, root) => shown.replaceAll(root, '<project>'), text)) };
  }

  begin() {
    this.output = '';
    this.code.clear();
    this.began = cpuTime();
  }

  // What a call printed and wrote, and what it reached.
  seen() {
    // First, because what was added would be part of all that follows.
    const added = this.takeAdded();
    const found = { ...this.code.take(), cpu: cpuTime() - this.began };
    if (added !== null) found.added = added;
    if (this.output !== '') found.output = this.output.slice(0, MAX_OUTPUT);
    if (this.wrote) {
      this.wrote = false;
      found.files = this.takeFiles();
    }
    return found;
  }

  takeFiles() {
    const found = {};
    for (const name of fs.readdirSync(this.folder, { recursive: true }).sort()) {
      const path = join(this.folder, name);
      if (fs.statSync(path).isFile()) found[name] = fs.readFileSync(path, 'latin1').slice(0, MAX_FILE);
    }
    // The folder itself stays: it is the current one.
    this.unblocked(() => {
      for (const name of fs.readdirSync(this.folder)) fs.rmSync(join(this.folder, name), { recursive: true, force: true });
    });
    return found;
  }

  // The functions as they were before the block.
  unblocked(work) {
    this.unblock();
    try {
      work();
    } finally {
      this.block();
    }
  }

  block() {
    const print = (stream, text) => {
      if (this.output.length < MAX_OUTPUT) this.output += stream === 'stdout' ? text() : `[stderr] ${text()}`;
    };
    this.unblock = blockWritesAndOutput({ print, folder: this.folder, onWrite: () => { this.wrote = true; } });
  }

  async run(calls) {
    const answers = [];
    const resolved = calls.map((call) => {
      try {
        return this.resolve(call);
      } catch {
        return null;
      }
    });
    while (answers.length < calls.length) {
      const at = answers.length;
      if (resolved[at] === null) {
        answers.push(null);
        continue;
      }
      let end = at;
      while (end < calls.length && resolved[end] !== null && !resolved[end].target.promises) end += 1;
      if (end > at) {
        const seen = [];
        const outcomes = runBatch(resolved.slice(at, end), this.evaluator, () => this.begin(), () => seen.push(this.seen()));
        for (let n = 0; n < outcomes.length; n += 1) {
          if (outcomes[n] && outcomes[n].promise) break;
          answers.push(this.answered(outcomes[n], seen[n]));
        }
        if (answers.length === end) continue;
      }
      answers.push(await this.runAlone(resolved[answers.length]));
    }
    return { answers, cpu: cpuTime() };
  }

  async runAlone(call) {
    this.begin();
    const outcome = await runWatched(call, this.evaluator);
    return this.answered(outcome, this.seen());
  }

  // What a call compares and looks up, to make further inputs.
  compared(call) {
    const found = this.resolve(call);
    if (found === null || found.target.promises) return { pairs: [], lookups: { regexes: [], strings: [] } };
    const attempt = () => {
      try {
        withTimeout(() => runUnwatched(found, this.evaluator));
      } catch {
        // What was compared until then is enough.
      }
    };
    const isPlain = (value) => value === null || ['string', 'number', 'boolean', 'undefined'].includes(typeof value);
    const pairs = this.code.comparisonsDuring(attempt).filter(([left, right]) => isPlain(left) && isPlain(right));
    return { pairs: pairs.slice(0, 200).map((pair) => pair.map((value) => literal(value))), lookups: observeLookups(attempt) };
  }

  async stable(call, expected) {
    const found = this.resolve(call);
    if (found === null) return false;
    const outcomeOf = async () => {
      this.begin();
      const answer = this.answered(await rerun(found, this.evaluator), this.seen());
      return answer && answer.outcome;
    };
    return isStable(outcomeOf, expected);
  }

  // How many milliseconds of processor time a call takes.
  async time(call) {
    const found = this.resolve(call);
    const began = cpuTime();
    await runWatched(found, this.evaluator);
    return cpuTime() - began;
  }

  async answer({ op, calls, call, expected }) {
    switch (op) {
      case 'describe': return this.describe();
      case 'run': return this.run(calls);
      case 'compared': return this.compared(call);
      case 'stable': return this.stable(call, expected);
      case 'endless': return isEndless(this.resolve(call), this.evaluator);
      case 'time': return this.time(call);
      case 'loaded': return { reached: this.code.atLoad, executable: this.code.executable() };
      default: throw new Error(`unknown message ${op}`);
    }
  }
}

// What a call returned, printed, wrote and reached.
function merged(outcome, { output, files, added, ...reached }) {
  if (outcome === null) return null;
  if (output !== undefined) outcome.output = output;
  if (files !== undefined) outcome.files = files;
  if (added !== undefined) outcome.added = added;
  return { outcome, ...reached };
}

// Why a version cannot be loaded, in a line.
function whyNotLoaded(error, root) {
  const { name = 'Error', message = String(error), code, path } = error || {};
  const text = error instanceof Forbidden ? message : UNWRITABLE.has(code) && path ? `the code tries to write ${path}` : `${name}: ${message.split('\n')[0]}`;
  return text.replaceAll(root, '<project>');
}

// Loads a module in plain node. One with `await` outside of functions cannot be loaded synchronously.
async function loadInNode(file) {
  try {
    return require(file);
  } catch (error) {
    const isModule = ['ERR_REQUIRE_ESM', 'ERR_REQUIRE_ASYNC_MODULE'].includes(error.code) || (error instanceof SyntaxError && /import|export|await/.test(error.message));
    if (!isModule) throw error;
    return import(pathToFileURL(file).href);
  }
}

function mainName(subject) {
  const main = typeof subject === 'function' ? subject : subject && subject.default;
  return typeof main === 'function' ? main.name : '';
}

// Connects to the comparison, loads the module and answers until the connection ends.
async function serve(load) {
  const plan = JSON.parse(fs.readFileSync(process.env.WAVECREW_COMPARE_PLAN, 'utf8'));
  const socket = connect(process.env.WAVECREW_COMPARE_SOCKET);
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  const send = (message) => socket.write(`${JSON.stringify(message)}\n`);
  const restoreBuiltins = watchBuiltins();
  const unblockProcess = blockProcessAccess();
  showAll();
  const code = new ChangedCode(plan);
  let worker;
  try {
    const subject = await load(plan.module);
    restoreBuiltins();
    code.loaded();
    worker = new Worker(subject, plan, restoreBuiltins, code);
    process.chdir(worker.folder);
    worker.block();
    send({ side: plan.side, ready: true });
  } catch (error) {
    send({ side: plan.side, ready: false, why: whyNotLoaded(error, plan.root) });
  }
  // Errors in timers and promises that nobody waits for concern no other call.
  for (const event of ['uncaughtException', 'unhandledRejection']) {
    process.removeAllListeners(event);
    process.on(event, () => {});
  }
  for (;;) {
    const { value, done } = await lines.next();
    if (done || !worker) break;
    const message = JSON.parse(value);
    let answer;
    try {
      answer = { id: message.id, result: await worker.answer(message) };
    } catch (error) {
      answer = { id: message.id, error: String((error && error.message) || error) };
    }
    send(answer);
  }
  if (worker) worker.unblock();
  unblockProcess();
  socket.destroy();
}

module.exports = { serve };

if (require.main === module) serve(loadInNode).then(() => process.reallyExit(0));
