// Copies of the tests that a change touches, as tests for vitest or jest: each test whole, and reduced to one assertion with
// what it needs. Reads text only, and runs nothing; mistakes show when the copies run. The request is a JSON file.
'use strict';

const fs = require('node:fs');
const { basename, dirname, extname, join } = require('node:path');
const { CLOSERS, endsValue, startsValue, tokenise } = require('./tokens.cjs');

const TESTS = new Set(['test', 'it', 'tape', 'specify']);
const GROUPS = new Set(['describe', 'suite', 'context']);
const HOOKS = new Set(['before', 'beforeEach', 'beforeAll', 'setup']);
const AFTER = new Set(['after', 'afterEach', 'afterAll', 'teardown']);
const ASSERTS = new Set(['assert', 'expect', 'should', 't', 'st', 's2t', 'assertions', 'tap']);
const CONTINUES = new Set(['else', 'catch', 'finally']);
const FRAMEWORKS = /(['"])(vitest|@jest\/globals|node:test|mocha|tape|tap|ava)\1/;
const MAX_PER_TEST = 24;
const MAX_TESTS = 40;
const MAX_COPIES = 240;
const MAX_LENGTH = 4000;

// The statements of a range of tokens, as pairs of tokens; the end is not included.
function statements(tokens, from, to) {
  const found = [];
  let begin = from;
  for (let at = from; at < to; at += 1) {
    const token = tokens[at];
    if (at > begin && token.line && isBoundary(tokens, at)) {
      found.push([begin, at]);
      begin = at;
    }
    if (token.kind === 'sign' && '([{'.includes(token.text) && token.pair !== undefined) at = token.pair;
    if (tokens[at].text === ';') {
      found.push([begin, at + 1]);
      begin = at + 1;
    }
  }
  if (begin < to) found.push([begin, to]);
  return found.filter(([first, last]) => last > first && !(last === first + 1 && tokens[first].text === ';'));
}

function isBoundary(tokens, at) {
  if (CONTINUES.has(tokens[at].text)) return false;
  const before = tokens[at - 1];
  return (endsValue(tokens, at - 1) || before.text === '}') && (startsValue(tokens[at]) || ['[', '('].includes(tokens[at].text) === false && tokens[at].kind !== 'sign');
}

// The test or group that a statement is: its kind, title and the range of its body. Null for others.
function callOf(tokens, [first, last], text) {
  const name = tokens[first].text;
  const isNested = tokens[first].kind === 'word' && tokens[first + 1] && tokens[first + 1].text === '.' && tokens[first + 2] && tokens[first + 2].text === 'test' && !TESTS.has(name);
  if (tokens[first].kind !== 'word' || !(isNested || TESTS.has(name) || GROUPS.has(name) || HOOKS.has(name) || AFTER.has(name))) return null;
  let open = first + 1;
  if (tokens[open] && tokens[open].text === '.') {
    if (['skip', 'todo', 'each', 'fails'].includes(tokens[open + 1] && tokens[open + 1].text)) return null;
    open += 2;
  }
  if (!tokens[open] || tokens[open].text !== '(' || tokens[open].pair === undefined || tokens[open].pair >= last) return null;
  const end = tokens[open].pair;
  const title = tokens[open + 1];
  let body = null;
  for (let at = open + 1; at < end; at += 1) {
    const token = tokens[at];
    if (token.text === '{' && (tokens[at - 1].text === '=>' || (tokens[at - 1].text === ')' && isFunction(tokens, at)))) {
      body = at;
      break;
    }
    if (token.kind === 'sign' && '([{'.includes(token.text) && token.pair !== undefined) at = token.pair;
  }
  if (body === null || tokens[body].pair === undefined) return null;
  const parameters = parametersOf(tokens, body, text);
  const kind = isNested || TESTS.has(name) ? 'test' : GROUPS.has(name) ? 'group' : HOOKS.has(name) ? 'hook' : 'after';
  const isAsync = text.slice(tokens[open].end, tokens[body].start).includes('async');
  return { kind, title: title.kind === 'string' || title.kind === 'template' ? title.text.slice(1, -1) : name, parameters, isAsync, body: [body + 1, tokens[body].pair] };
}

function isFunction(tokens, brace) {
  const open = tokens[brace - 1].pair;
  if (open === undefined) return false;
  return tokens[open - 1].text === 'function' || (tokens[open - 2] && tokens[open - 2].text === 'function');
}

function parametersOf(tokens, brace, text) {
  const close = tokens[brace - 1].text === '=>' ? brace - 2 : brace - 1;
  if (tokens[close].text !== ')') return tokens[close].text;
  return text.slice(tokens[tokens[close].pair].end, tokens[close].start).trim();
}

// All tests of a file, each with the statements around it.
function testsOf(text) {
  const tokens = tokenise(text);
  const found = [];
  const visit = (from, to, titles, around) => {
    const mine = [];
    const groups = [];
    for (const range of statements(tokens, from, to)) {
      const call = callOf(tokens, range, text);
      if (call === null) mine.push(statement(tokens, range, text));
      else if (call.kind === 'hook') mine.push({ ...statement(tokens, range, text), text: `await (async () => {${text.slice(tokens[call.body[0] - 1].end, tokens[call.body[1]].start)}})();`, isNeeded: true });
      else if (call.kind === 'group') groups.push(call);
      else if (call.kind === 'test') groups.push({ ...call, text: text.slice(tokens[range[0]].start, tokens[range[1] - 1].end) });
    }
    for (const call of groups) {
      if (call.kind === 'group') visit(...call.body, [...titles, call.title], [...around, ...mine]);
      else addTest(call, titles, [...around, ...mine]);
    }
    if (titles.length === 0 && groups.length === 0) found.push({ titles: [], around: [], statements: mine, text, parameters: '', isScript: true });
  };
  // Tests inside of a test are tests of their own, after its other statements.
  const addTest = (call, titles, around) => {
    const own = statements(tokens, ...call.body);
    const inner = own.map((range) => callOf(tokens, range, text)).filter((one) => one !== null && one.kind === 'test');
    const named = [...titles, call.title];
    const all = own.map((range) => statement(tokens, range, text));
    if (inner.length === 0) found.push({ ...call, titles: named, around, statements: all });
    const others = all.filter((one) => !/^\w+\.(test|end|plan)\s*\(/.test(one.text));
    for (const one of inner) addTest(one, named, [...around, ...others]);
  };
  visit(0, tokens.length, [], []);
  return found;
}

function statement(tokens, [first, last], text) {
  const own = tokens.slice(first, last);
  const words = own.filter((token, at) => token.kind === 'word' && !(at > 0 && ['.', '?.'].includes(own[at - 1].text))).map((token) => token.text);
  const templates = own.filter((token) => token.kind === 'template').flatMap((token) => token.text.match(/[A-Za-z_$][\w$]*/g) || []);
  const used = new Set([...words, ...templates]);
  const isImport = own[0].text === 'import';
  return {
    text: outdented(text, own[0].start, own[own.length - 1].end), plain: own.map((token) => token.text).join(' '), used, bound: boundNames(own), isImport,
    asserts: own.some((token, at) => token.kind === 'word' && (ASSERTS.has(token.text) || token.text === 'should') && own[at + 1] && ['.', '('].includes(own[at + 1].text)),
    isPlain: !['var', 'let', 'const', 'function', 'class', 'async', 'import'].includes(own[0].text),
    loads: /^(require\s*\(|import\s*['"])/.test(text.slice(own[0].start)),
  };
}

// A piece of text without the indentation of its first line.
function outdented(text, from, to) {
  const blank = /[ \t]*$/.exec(text.slice(0, from))[0];
  const lines = text.slice(from, to).split('\n').map((line, at) => (at > 0 && line.startsWith(blank) ? line.slice(blank.length) : line));
  return lines.map((line) => line.replace(/^\t+/, (tabs) => '  '.repeat(tabs.length))).join('\n');
}

function boundNames(own) {
  const names = new Set();
  const [first] = own;
  if (first.text === 'function' || first.text === 'class') names.add(own.find((token, at) => at > 0 && token.kind === 'word').text);
  else if (first.text === 'async' && own[1] && own[1].text === 'function') names.add(own[2].text);
  else if (first.text === 'import') for (const token of own) if (token.kind === 'word' && !['import', 'from', 'as'].includes(token.text)) names.add(token.text);
  if (['var', 'let', 'const'].includes(first.text)) {
    let isName = true;
    let depth = 0;
    for (const token of own.slice(1)) {
      if ('([{'.includes(token.text) && token.kind === 'sign') depth += 1;
      else if (token.kind === 'sign' && CLOSERS[token.text]) depth -= 1;
      else if (token.text === '=' && depth === 0) isName = false;
      else if (token.text === ',' && depth === 0) isName = true;
      else if (isName && token.kind === 'word') names.add(token.text);
    }
  }
  return names;
}

// The statements of a list that some names need, in order. With `effects`, also those that may change what they name.
function needed(list, used, effects) {
  const kept = [];
  for (const one of [...list].reverse()) {
    const isBound = [...one.bound].some((name) => used.has(name));
    const changes = one.isPlain && !one.asserts && [...one.used].some((name) => used.has(name) && !GLOBAL.has(name));
    if (one.isNeeded || one.loads || isBound || (effects && changes)) {
      kept.unshift(one);
      for (const name of one.used) used.add(name);
    }
  }
  return kept;
}

const GLOBAL = new Set(['require', 't', 'assert', 'expect', 'test', 'it', 'Object', 'Array', 'this', 'function', 'return', 'new', 'typeof', 'true', 'false', 'null', 'undefined', 'if', 'for', 'var', 'let', 'const']);

// The bodies of the copies of a test: each assertion with what it needs, or with all before it; then the whole test.
function bodies(test, known, isSame) {
  const found = [];
  if (!isSame) test.statements.forEach((one, at) => {
    if (!one.asserts || (known.has(one.plain) && !test.isNew) || /\.(end|plan)\s*\(/.test(one.text) && !/[,(]\s*function|=>/.test(one.text)) return;
    for (const effects of [false, true, null]) {
      const used = new Set(one.used);
      const before = test.statements.slice(0, at);
      const own = (effects === null ? before : needed(before, used, effects)).filter((other) => !/^\s*\w+\.(plan|end|timeout)\s*\(/.test(other.text));
      if (effects === null) for (const other of own) for (const name of other.used) used.add(name);
      found.push({ around: needed(test.around, used, effects !== false), own: [...own, one], isWhole: false });
    }
  });
  const few = found.length > MAX_PER_TEST ? found.slice(-MAX_PER_TEST) : found;
  const used = new Set(test.statements.flatMap((one) => [...one.used]));
  few.push({ around: needed(test.around, used, true), own: test.statements, isWhole: true });
  return few;
}

const quote = (text) => `'${text.replace(/\\(?=')/g, '').replace(/\s+/g, ' ').replace(/[\\']/g, '\\$&')}'`;
const indented = (text, by) => text.split('\n').map((line) => (line.trim() === '' ? '' : `${by}${line}`)).join('\n');

// What a test gets from its framework, as the first statement of a copy: assertions, or the function to call at the end.
function givenText(test, used, style) {
  const words = test.parameters.match(/[A-Za-z_$][\w$]*/g) || [];
  if (style === 'tape' || !words.some((word) => used.has(word))) return null;
  if (style === 'context') return `const ${test.parameters.split(/,(?![^{]*\})/)[0].trim()} = testContext();`;
  return words.length === 1 && test.parameters === words[0] && !test.isAsync ? { done: words[0] } : null;
}

function copyText(title, test, { around, own, isWhole }, style) {
  const isTape = style === 'tape' && !test.isScript;
  const before = around.filter((one) => !one.isImport && !isFrameworkImport(one.text)).map((one) => one.text);
  const inner = own.filter((one) => !one.isImport && !isFrameworkImport(one.text)).map((one) => one.text);
  const lines = [...before];
  if (isTape) {
    const end = isWhole ? [] : [`${test.parameters}.end();`];
    lines.push(`expect(await runTape(${test.isAsync ? 'async ' : ''}(${test.parameters}) => {\n${indented([...inner, ...end].join('\n'), '  ')}\n})).toEqual([]);`);
  } else {
    const given = givenText(test, new Set(own.flatMap((one) => [...one.used])), style);
    if (typeof given === 'string') lines.unshift(given);
    if (given === null || typeof given === 'string') lines.push(...inner);
    else lines.push(`await new Promise((resolve, reject) => {\n  const ${given.done} = (error) => (error ? reject(error) : resolve());\n${indented(inner.join('\n'), '  ')}\n});`);
  }
  return `  it(${quote(title)}, async () => {\n${indented(lines.join('\n'), '    ')}\n  });`;
}

const isFrameworkImport = (text) => /^(import|(var|let|const)\b)/.test(text) && FRAMEWORKS.test(text) && !/,\s*\n/.test(text);

const RUN_TAPE = `// The names of the assertions that fail.
function runTape(body) {
  const harness = require('tape').createHarness();
  const failed = [];
  return new Promise((resolve) => {
    const rows = harness.createStream({ objectMode: true });
    rows.on('data', (row) => row.ok === false && failed.push(row.name));
    rows.on('end', () => resolve(failed));
    harness('reduced', body);
  });
}`;

// What `node:test`, tap and ava pass to a test, as far as assertions need it.
const TEST_CONTEXT = `// What the test framework passed to the test.
function testContext() {
  const named = {
    equal: 'strictEqual', equals: 'strictEqual', is: 'strictEqual', not: 'notStrictEqual', isNot: 'notStrictEqual', notEqual: 'notStrictEqual',
    same: 'deepEqual', notSame: 'notDeepEqual', strictSame: 'deepStrictEqual', strictNotSame: 'notDeepStrictEqual',
    deepEqual: 'deepStrictEqual', notDeepEqual: 'notDeepStrictEqual', ok: 'ok', true: 'ok', truthy: 'ok', throws: 'throws', notThrows: 'doesNotThrow',
    doesNotThrow: 'doesNotThrow', throwsAsync: 'rejects', rejects: 'rejects', resolves: 'doesNotReject', match: 'match', regex: 'match', fail: 'fail',
  };
  const context = { assert: nodeAssert };
  for (const [name, own] of Object.entries(named)) context[name] = (...args) => nodeAssert[own](...args);
  for (const name of ['notOk', 'false', 'falsy']) context[name] = (value, message) => nodeAssert.ok(!value, message);
  context.error = (error) => nodeAssert.ifError(error);
  for (const name of ['plan', 'end', 'pass', 'comment', 'log', 'diagnostic', 'after', 'teardown', 'timeout', 'autoend']) context[name] = () => {};
  return context;
}`;

// How the tests of a file get their assertions.
function styleOf(text) {
  if (/require\(\s*['"]tape['"]\s*\)/.test(text)) return 'tape';
  return /(require\(\s*|from\s+)['"](node:test|tap|t|ava)['"]/.test(text) ? 'context' : 'plain';
}

// The copies of the changed tests of one file. `old` is the text of the file in the old version, or null.
function copiesOf(file, text, old, framework) {
  const style = styleOf(text);
  const tests = testsOf(text);
  const before = old === null ? [] : testsOf(old);
  const plain = (test) => test.statements.map((one) => one.plain).join('\n');
  const same = new Set(before.map((test) => `${test.titles.join(' ')}\n${plain(test)}`));
  const titles = new Set(before.map((test) => test.titles.join(' ')));
  const known = new Set(before.flatMap((test) => test.statements.map((one) => one.plain)));
  const isSame = (test) => same.has(`${test.titles.join(' ')}\n${plain(test)}`);
  // An unchanged test may pass on the new version only, too.
  const changed = [...tests.filter((test) => !isSame(test)).slice(0, MAX_TESTS), ...tests.filter(isSame).slice(0, MAX_TESTS)];
  const copies = [];
  const needsHarness = style === 'tape' && changed.some((test) => !test.isScript);
  changed.forEach((test, number) => {
    test.isNew = !titles.has(test.titles.join(' ')) && !test.isScript;
    const title = (test.titles.join(' ') || basename(file)).slice(0, 90);
    const seen = new Set();
    for (const one of bodies(test, known, isSame(test))) {
      const name = `${title} ${number + 1}.${seen.size + 1}`;
      const made = copyText(name, test, one, style);
      const key = made.slice(made.indexOf('\n'));
      if (seen.has(key) || made.length > MAX_LENGTH || copies.length >= MAX_COPIES) continue;
      seen.add(key);
      const parts = [...one.around, ...one.own];
      const imports = parts.filter((part) => part.isImport && !isFrameworkImport(part.text)).map((part) => (part.text.endsWith(';') ? part.text : `${part.text};`));
      copies.push({ test: number, imports, title: name, shown: copyText(title, test, one, style), text: made, input: one.own.map((part) => part.text).join('\n'), name: title });
    }
  });
  const usesRequire = /\brequire\s*\(/.test(text);
  const ownImports = [];
  const header = [];
  if (framework === 'vitest' && usesRequire) {
    ownImports.push("import { createRequire } from 'node:module';");
    header.push('', 'const require = createRequire(import.meta.url);');
  }
  if (framework === 'vitest') ownImports.push(`import { describe, expect, it${/\bvi\./.test(text) ? ', vi' : ''} } from 'vitest';`);
  if (needsHarness) header.push('', RUN_TAPE);
  if (copies.some((copy) => copy.text.includes('testContext()'))) {
    if (framework === 'vitest') ownImports.unshift("import nodeAssert from 'node:assert';");
    else header.push('', "const nodeAssert = require('node:assert');");
    header.push('', TEST_CONTEXT);
  }
  const stem = basename(file).replace(/\.[cm]?[jt]sx?$/, '').replace(/[.-](test|spec)$/, '');
  const kind = /\.[cm]?tsx?$/.test(file) ? extname(file).replace(/^\.[cm]/, '.') : '.js';
  return { file, folder: dirname(file), name: join(dirname(file), `${stem}-change.test${kind}`), group: basename(file), imports: ownImports, header, copies };
}

function main() {
  const request = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
  const read = (path) => {
    try {
      return fs.readFileSync(path, 'utf8');
    } catch {
      return null;
    }
  };
  const found = [];
  for (const { file, old } of request.tests) {
    const text = read(join(request.new_root, file));
    if (text === null || !/\.[cm]?[jt]sx?$/.test(file)) continue;
    try {
      const made = copiesOf(file, text, old, request.framework);
      if (made.copies.length > 0) found.push(made);
    } catch {
      // A file that is written in a way of its own.
    }
  }
  process.stdout.write(JSON.stringify(found));
}

module.exports = { copiesOf, isFrameworkImport, needed, statements, testsOf };

if (require.main === module) main();
