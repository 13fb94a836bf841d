// Calls of the module that the project's own tests make: runs test files in plain node and records the arguments. Tests that
// need more than that are skipped. In a test's process, this file is loaded first.
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const Module = require('node:module');
const { basename, extname, join, relative, sep } = require('node:path');
const { literal } = require('./literals.cjs');

const TEST_FOLDER = /(^|\/)(tests?|__tests__|specs?)\//;
const TEST_FILE = /(^|\/)(tests?|[^/]*[.-](test|spec))\.[cm]?[jt]s$/;
const SKIPPED = new Set(['node_modules', '.git', 'dist', 'coverage']);
const MAX_FILES = 12;
const FILE_MS = 6000;
// Of the time that is left.
const SHARE = 0.15;
const MAX_CALLS = 1500;
const MAX_SOURCE = 300;

function testFiles(root) {
  const found = [];
  const walk = (folder) => {
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      const inner = relative(root, path).split(sep).join('/');
      if (entry.isDirectory() && !SKIPPED.has(entry.name) && found.length < 500) walk(path);
      else if (entry.isFile() && ['.js', '.cjs', '.mjs', '.ts', '.mts'].includes(extname(path)) && (TEST_FOLDER.test(inner) || TEST_FILE.test(inner))) found.push(inner);
    }
  };
  walk(root);
  return found.sort();
}

// Runs one test file and returns the calls that it made.
function runTest(root, test, target, scratch, milliseconds) {
  const out = join(scratch, 'recorded.json');
  fs.rmSync(out, { force: true });
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['-r', __filename, test], {
      cwd: root, stdio: 'ignore', detached: true, env: { ...process.env, WAVECREW_RECORD: JSON.stringify({ target, out }) },
    });
    const end = () => {
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // It ended by itself.
      }
    };
    const timer = setTimeout(end, milliseconds);
    child.on('error', () => {});
    child.on('close', () => {
      clearTimeout(timer);
      end();
      try {
        resolve(JSON.parse(fs.readFileSync(out, 'utf8')));
      } catch {
        resolve([]);
      }
    });
  });
}

// The tests of the new version, changed ones first, and then those that mention the module.
function rankedTests(request) {
  const root = request.new_root;
  const stem = basename(request.file).replace(/\.\w+$/, '');
  const changed = new Set(request.changed_tests || []);
  const mentions = (test) => Number(fs.readFileSync(join(root, test), 'utf8').includes(stem === 'index' ? '..' : stem));
  const rank = (test) => (changed.has(test) ? 4 : 0) + mentions(test) + Number(basename(test).startsWith(stem));
  return testFiles(root).map((test) => ({ test, rank: rank(test) })).sort((one, other) => other.rank - one.rank).map(({ test }) => test);
}

// The calls that tests of the new version make, those of changed tests first.
async function recordCalls(request, scratch, print) {
  const root = request.new_root;
  const target = join(root, request.file);
  const tests = rankedTests(request).filter((test) => /\.c?js$/.test(test)).slice(0, MAX_FILES);
  if (tests.length > 0) print({ progress: 'recording the calls of tests' });
  const until = Date.now() + SHARE * request.seconds_left * 1000;
  const found = new Map();
  for (const test of tests) {
    const left = Math.min(FILE_MS, until - Date.now());
    if (left < 500 || found.size >= MAX_CALLS) break;
    for (const call of await runTest(root, join(root, test), target, scratch, left)) found.set(JSON.stringify(call), { ...call, name: call.name === '' ? request.identifier : call.name });
  }
  return [...found.values()].slice(0, MAX_CALLS);
}

// An argument as source text, or null.
function sourceOf(value) {
  if (typeof value === 'function') {
    const text = Function.prototype.toString.call(value);
    return text.length <= 120 && !/\[native code\]|^class|^async|\bt\./.test(text) && /^(function\b|\(|[A-Za-z_$][\w$]*\s*=>)/.test(text) ? `(${text})` : null;
  }
  const text = literal(value);
  return text !== null && text.length <= MAX_SOURCE ? text : null;
}

// Replaces the exports of the module by functions that record their arguments. For a test's own process.
function record({ target, out }) {
  const found = [];
  const seen = new Set();
  const note = (name, args, isNew) => {
    if (found.length >= MAX_CALLS) return;
    const sources = args.map(sourceOf);
    if (sources.includes(null)) return;
    const key = `${name} ${isNew} ${sources.join(', ')}`;
    if (seen.has(key)) return;
    seen.add(key);
    found.push({ name, args: sources, isNew });
  };
  const wrapped = new WeakMap();
  const wrap = (name, value) => {
    if (typeof value !== 'function') return value;
    if (!wrapped.has(value)) {
      wrapped.set(value, new Proxy(value, {
        apply(fn, self, args) {
          note(name, args, false);
          return Reflect.apply(fn, self, args);
        },
        construct(fn, args, made) {
          note(name, args, true);
          return Reflect.construct(fn, args, made === wrapped.get(value) ? fn : made);
        },
      }));
    }
    return wrapped.get(value);
  };
  const real = fs.realpathSync(target);
  const load = Module._load;
  const cache = new Map();
  Module._load = function recorded(request, parent, isMain) {
    const exports = load.call(this, request, parent, isMain);
    let file;
    try {
      file = Module._resolveFilename(request, parent, isMain);
    } catch {
      return exports;
    }
    if (file !== real && file !== target) return exports;
    const known = require.cache[file];
    if (!known || !known.loaded) return exports;
    if (cache.has(exports)) return cache.get(exports);
    let changed = exports;
    if (typeof exports === 'function') changed = wrap('', exports);
    else if (exports && typeof exports === 'object') {
      changed = Object.create(Object.getPrototypeOf(exports));
      for (const [key, property] of Object.entries(Object.getOwnPropertyDescriptors(exports))) {
        Object.defineProperty(changed, key, 'value' in property ? { ...property, value: wrap(key, property.value) } : { configurable: true, enumerable: property.enumerable, get: () => wrap(key, exports[key]) });
      }
    }
    cache.set(exports, changed);
    return changed;
  };
  fakeFramework();
  const write = fs.writeFileSync;
  process.on('exit', () => write(out, JSON.stringify(found)));
  for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, () => {});
  setTimeout(() => process.exit(0), FILE_MS - 1000).unref();
}

// The functions of test frameworks, so far as they make tests call the module.
function fakeFramework() {
  const run = (name, fn) => {
    const body = typeof name === 'function' ? name : fn;
    if (typeof body !== 'function') return;
    try {
      const result = body.length > 0 && body !== name ? body.call({ timeout() {}, slow() {} }, () => {}) : body.call({ timeout() {}, slow() {} });
      if (result && typeof result.catch === 'function') result.catch(() => {});
    } catch {
      // Only the calls matter.
    }
  };
  const each = (table) => (name, fn) => {
    if (Array.isArray(table)) for (const row of table) run(() => (Array.isArray(row) ? fn(...row) : fn(row)));
  };
  const test = Object.assign((name, fn) => run(name, fn), { each, only: run, skip() {}, todo() {} });
  const answer = new Proxy(() => answer, { get: (_, key) => (key === 'then' || typeof key === 'symbol' ? undefined : answer), apply: () => answer });
  const expect = (value) => {
    if (typeof value === 'function') run(() => value());
    return answer;
  };
  const fakes = { describe: test, it: test, test, suite: test, context: test, before: run, beforeEach: run, beforeAll: run, after: run, afterEach: run, afterAll: run, expect };
  for (const [name, fake] of Object.entries(fakes)) if (globalThis[name] === undefined) globalThis[name] = fake;
}

module.exports = { rankedTests, recordCalls, testFiles };

if (process.env.WAVECREW_RECORD && require.main !== module) record(JSON.parse(process.env.WAVECREW_RECORD));
