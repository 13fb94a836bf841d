// Pieces of tests as inputs: the statements before an assertion, and the expression that it checks. A piece is a function whose
// parameters are the literals of the piece, so the search varies them like arguments. Reads text only; mistakes show when a
// piece runs.
'use strict';

const fs = require('node:fs');
const { dirname, join } = require('node:path');
const { filled, slot } = require('./snippet_parts.cjs');
const { isFrameworkImport, needed, testsOf } = require('./suite_copies.cjs');
const { tokenise } = require('./tokens.cjs');

const MAX_FILES = 80;
const MAX_BYTES = 200000;
const MAX_SNIPPETS = 500;
// Of each file, if there are many.
const LEAST_PER_FILE = 20;
const MAX_TEXT = 1500;
const MAX_LITERALS = 10;
// The first word of an assertion, and its last one.
const ASSERTION = /^(?:await\s+)?(?:assert|should|expect|t|st|s2t|tap|assertions|chai|test)(?:\s*\.\s*[\w$]+)*\s*\(|^(?:await\s+)?\w+\s*\[\s*['"]throws['"]\s*\]\s*\(/;
const SINGLE = /^(ok|notOk|true|false|truthy|falsy|throws|doesNotThrow|notThrows|rejects|expect|assert|error|ifError|isTrue|isFalse|isNull|isUndefined)$/;
const NO_ASSERTION = new Set(['plan', 'end', 'test', 'skip', 'comment', 'pass', 'fail', 'timeout', 'teardown', 'after', 'before', 'context', 'log']);

// The pieces of the tests that may use a module. `file` is the module, relative to the root of the new version.
function snippetsOf(root, tests, file) {
  const found = [];
  const seen = new Set();
  const most = Math.max(LEAST_PER_FILE, MAX_SNIPPETS / Math.max(1, tests.length));
  for (const test of tests.slice(0, MAX_FILES)) {
    if (found.length >= MAX_SNIPPETS) break;
    let text;
    try {
      text = fs.readFileSync(join(root, test), 'utf8');
    } catch {
      continue;
    }
    if (text.length > MAX_BYTES) continue;
    try {
      let count = 0;
      for (const one of ofTests(root, test, text)) {
        const key = `${one.setup}\n${one.observed}`;
        if (seen.has(key)) continue;
        seen.add(key);
        found.push(one);
        count += 1;
        if (count >= most || found.length >= MAX_SNIPPETS) break;
      }
    } catch {
      // A file that is written in a way of its own.
    }
  }
  return found.map((one, at) => target(one, at, file));
}

function* ofTests(root, file, text) {
  for (const test of testsOf(text)) {
    for (const [at, one] of test.statements.entries()) {
      if (!one.asserts) continue;
      for (const observed of observedOf(one.text)) {
        const tokens = tokenise(observed);
        const used = new Set(tokens.filter((token, index) => token.kind === 'word' && !(index > 0 && ['.', '?.'].includes(tokens[index - 1].text))).map((token) => token.text));
        const own = needed(test.statements.slice(0, at).filter((other) => !other.asserts || other.bound.size > 0), used, true);
        const around = needed(test.around, used, true);
        const parts = [...around, ...own].filter((part) => !isFrameworkImport(part.text));
        const setup = parts.map((part) => loading(root, file, part.text)).filter((part) => part !== '');
        if (setup.includes(null) || setup.join('\n').length + observed.length > MAX_TEXT) continue;
        yield { title: test.titles.join(' '), isAsync: /\bawait\b/.test(observed) || parts.some((part) => /\bawait\b/.test(part.text)), setup: setup.join('\n'), observed };
      }
    }
  }
}

// A statement whose modules of the project are loaded by `load`, by their path from the root. Null if there is no such file.
function loading(root, file, text) {
  const whole = /^import\s+(?:([\w$]+)\s*,?\s*)?(?:\{([^}]*)\}|\*\s*as\s+([\w$]+))?\s*(?:from\s*)?(['"])(.+?)\4;?$/s.exec(text);
  if (whole !== null) {
    const [, main, names, space, , path] = whole;
    const inner = resolved(root, file, path);
    if (inner === null) return null;
    const source = inner === path ? `require('${path}')` : `load('${inner}')`;
    const parts = [];
    if (main !== undefined) parts.push(`const ${main} = ${source}.default ?? ${source};`);
    if (space !== undefined) parts.push(`const ${space} = ${source};`);
    if (names !== undefined) parts.push(`const {${names.replace(/\s+as\s+/g, ': ')}} = ${source};`);
    return parts.join('\n');
  }
  let isKnown = true;
  const changed = text.replace(/\brequire\(\s*(['"])(.+?)\1\s*\)/g, (all, _, path) => {
    const inner = resolved(root, file, path);
    if (inner === null) isKnown = false;
    return inner === null || inner === path ? all : `load('${inner}')`;
  });
  return isKnown ? changed : null;
}

// The path of a module of the project from its root; the name itself for other modules.
function resolved(root, file, path) {
  const isFile = (inner) => fs.existsSync(join(root, inner)) && fs.statSync(join(root, inner)).isFile();
  const main = () => {
    try {
      const { main: named, name, exports } = JSON.parse(fs.readFileSync(join(root, 'package.json'), 'utf8'));
      const entry = typeof exports === 'string' ? exports : exports && exports['.'] && [exports['.'], exports['.'].require, exports['.'].default, exports['.'].import].find((one) => typeof one === 'string');
      return { name, file: (named || entry || 'index.js').replace(/^\.\//, '') };
    } catch {
      return { name: '', file: 'index.js' };
    }
  };
  if (!path.startsWith('.')) {
    if (path !== main().name) return path;
    path = relativeTo(file);
  }
  const inner = join(dirname(file), path);
  if (inner.startsWith('..')) return null;
  const clean = inner.replace(/\/$/, '') || '.';
  const tried = clean === '.' ? [main().file, `${main().file}.js`, 'index.js'] : [clean, ...['.js', '.cjs', '.mjs', '.json', '.ts', '/index.js', '/index.cjs', '/index.ts'].map((end) => clean + end), clean.replace(/\.js$/, '.ts')];
  return tried.find(isFile) || null;
}

const relativeTo = (file) => dirname(file).split('/').map(() => '..').join('/');

// The expressions that an assertion checks, as text.
function observedOf(text) {
  if (!ASSERTION.test(text)) return [];
  const tokens = tokenise(text);
  const open = tokens.findIndex((token) => token.text === '(');
  if (open < 1 || tokens[open].pair === undefined) return [];
  const before = tokens[open - 1];
  const name = before.kind === 'word' ? before.text : 'throws';
  if (NO_ASSERTION.has(name)) return [];
  const args = argumentsOf(text, tokens, open);
  const found = [];
  for (const arg of args.slice(0, SINGLE.test(name) ? 1 : 2)) {
    if (/^(async\s*)?(function\b|\([^()]*\)\s*=>|[\w$]+\s*=>)/.test(arg)) found.push(`(${arg})()`);
    else if (!isLiteral(arg)) found.push(arg);
  }
  return found;
}

function argumentsOf(text, tokens, open) {
  const found = [];
  const close = tokens[open].pair;
  let from = open + 1;
  for (let at = open + 1; at <= close; at += 1) {
    if (at === close || tokens[at].text === ',') {
      if (at > from) found.push(text.slice(tokens[from].start, tokens[at - 1].end));
      from = at + 1;
    } else if (tokens[at].kind === 'sign' && '([{'.includes(tokens[at].text) && tokens[at].pair !== undefined) at = tokens[at].pair;
  }
  return found;
}

function isLiteral(text) {
  const words = tokenise(text).filter((token, at, all) => token.kind === 'word' && !(all[at + 1] && all[at + 1].text === ':'));
  return words.every((token) => ['true', 'false', 'null', 'undefined', 'NaN', 'Infinity', '-', 'new', 'Date', 'Map', 'Set'].includes(token.text)) && !/`/.test(text);
}

// A target of the search. Slots in its texts stand for literals.
function target({ title, isAsync, setup, observed }, at, file) {
  const literals = [];
  const cut = (text) => {
    const tokens = tokenise(text);
    let made = '';
    let last = 0;
    for (const [index, token] of tokens.entries()) {
      const next = tokens[index + 1];
      const previous = tokens[index - 1];
      const isKey = next && next.text === ':' && !(previous && previous.text === '?');
      const isPath = previous && previous.text === '(' && ['load', 'require'].includes((tokens[index - 2] || {}).text);
      if (!['string', 'number'].includes(token.kind) || isKey || isPath || literals.length >= MAX_LITERALS) continue;
      made += text.slice(last, token.start) + slot(literals.length);
      last = token.end;
      literals.push(token.text);
    }
    return made + text.slice(last);
  };
  const shown = cut(observed);
  const before = cut(setup);
  const names = literals.map((_, index) => `literal${index}`);
  const body = filled(`${before}\nreturn ${shown};`, names);
  return {
    kind: 'function', name: `piece ${at} of ${title}`, aliases: [], expression: `(${isAsync ? 'async ' : ''}(${names.join(', ')}) => {\n${body}\n})`, returned: true,
    snippet: { setup: before, observed: shown, label: calledName(observed) || file, isAsync }, params: literals.map((text, index) => ({ name: names[index], type: { kind: /^['"]/.test(text) ? 'string' : 'number' }, optional: false })),
    line: 0, value: {}, examples: [literals], statedResults: [], cost: 0, quiet: 0, tried: 0, unstable: 0, kept: [],
  };
}

// The last function that an expression calls.
function calledName(text) {
  const found = [...text.matchAll(/([A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)\s*\(/g)].map((match) => match[1]).filter((name) => !['function', 'if', 'for', 'async'].includes(name));
  return found[0];
}

module.exports = { observedOf, snippetsOf };
