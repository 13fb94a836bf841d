// Unit tests of the JavaScript helper.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const { test } = require('node:test');
const path = require('node:path');
const vm = require('node:vm');

const part = (name) => require(path.join(__dirname, '../javascript', `${name}.cjs`));
const { tokenise } = part('tokens');
const { NAME, findSites, instrumented } = part('mutation_sites');
const { callsFromComparisons } = part('comparisons');
const { simpler } = part('simplify');
const { quotedWords } = part('examples');
const { compilingSites, lineFinder, runtime } = part('mutants');
const { stringMatching } = part('patterns');
const { passes, recordTests } = part('existing_tests');
const { seededRandom } = part('random');
const { findTargets } = part('targets');
const { kindOfDifference, repeats } = part('compare_outcomes');
const { apart, ranges } = part('compare_report');
const { copiesOf } = part('suite_copies');
const { parts } = part('snippet_parts');
const { snippetsOf } = part('compare_snippets');
const { watchPrototypes } = part('process_state');

const evaluate = (list) => list.map((source) => new Function(`return (${source});`)());

test('a script is split into tokens', () => {
  const text = 'a = b / 2; if (x) /a[/]b/.test(c); `x${`y`}z`; n++; 0x1f + .5 ?? q?.r';
  assert.deepEqual(tokenise(text).map((token) => token.text), ['a', '=', 'b', '/', '2', ';', 'if', '(', 'x', ')', '/a[/]b/', '.', 'test', '(', 'c', ')', ';',
    '`x${`y`}z`', ';', 'n', '++', ';', '0x1f', '+', '.5', '??', 'q', '?.', 'r']);
});

// The same code, instrumented: nothing changes until a mutant is active.
function loaded(text) {
  const { found } = findSites(text);
  const state = runtime(found[found.length - 1].id + 1);
  const context = vm.createContext({ [NAME]: state });
  vm.runInContext(instrumented(text, found), context);
  return { found, state, call: (source) => vm.runInContext(source, context) };
}

const CODE = `
function grade(n, options) {
  'use strict'
  const limit = options?.limit ?? 50
  if (!(n >= limit) || n === -1) return n < 0 && -n > 5 ? 'far' : 'low'
  let sum = 0
  for (let i = 0; i < n % 7; i++) sum += i * 2
  switch (n) {
    case 60: return 'sixty'
    default: sum -= 1
  }
  const double = (x) => x * 2
  note('seen', double(sum) + 1)
  return typeof n === 'number' ? \`\${sum}\` : { 'a-b': 1, c: true }
}
const notes = []
function note(...all) { notes.push(all) }
`;

test('instrumented code behaves the same', () => {
  const plain = vm.createContext({});
  vm.runInContext(CODE, plain);
  const { call } = loaded(CODE);
  for (const source of ['grade(-1)', 'grade(-9)', 'grade(3)', 'grade(60)', 'grade(75)', 'grade(10, { limit: 2 })', "grade('88')", 'notes']) {
    assert.equal(JSON.stringify(call(source)), JSON.stringify(vm.runInContext(source, plain)), source);
  }
});

test('each mutant can be activated and has a line', () => {
  const { found, state, call } = loaded(CODE);
  for (const [call_, line, what] of [['grade(50)', 5, '>= replaced'], ['grade(60)', 9, "'sixty' to 'sixty?'"], ['grade(75)', 14, 'returns undefined']]) {
    const before = JSON.stringify(call(call_));
    const site = found.find((one) => one.what === what && lineFinder(CODE, '')(one.at) === line);
    state.active = site.id;
    assert.notEqual(JSON.stringify(call(call_)), before, what);
    state.active = -1;
  }
});

test('sites that do not compile are dropped', () => {
  assert.deepEqual(compilingSites([1, 2, 3, 4, 5], (some) => !some.includes(3)), [1, 2, 4, 5]);
});

test('inputs take the value that they were compared with', () => {
  const target = { name: 'open' };
  const made = callsFromComparisons({ target, args: ["'ab'", '3', '{ code: 7 }'], steps: [] }, [[2, 5], [7, 99], ['ab', 'key']], evaluate).map((call) => call.args);
  for (const wanted of [["'key'", '3', '{ code: 7 }'], ["'ababa'", '3', '{ code: 7 }'], ["'ab'", '3', '{ code: 99 }'], ["'ab'", '3', '{ code: 100 }']]) {
    assert.ok(made.some((args) => args.join() === wanted.join()), `${wanted} is not in ${made.join(' | ')}`);
  }
});

test('simpler values come first', () => {
  assert.deepEqual([...simpler('477419669', evaluate)].slice(0, 3), ['0', '1', '2']);
  assert.ok([...simpler('477419669', evaluate)].includes('500000000'));
  assert.equal([...simpler("'hello there'", evaluate)][0], "''");
  assert.ok([...simpler("new subject.Box('abcd', 77)", evaluate)].includes("new subject.Box('', 77)"));
  assert.deepEqual([...simpler("''", evaluate)], []);
});

test('comments and prose contain values to try', () => {
  assert.deepEqual(quotedWords("// ~1.2.3 becomes >=1.2.3\nf('a'); `b c`"), ['a', 'b c', '~1.2.3', '>=1.2.3']);
});

test('generated strings match their expression', () => {
  const random = seededRandom(3);
  for (const source of ['^v?(\\d{1,256})\\.(x|X|\\*)$', '^[a-f]{3}-\\w+$', '^(?:a|b)*c$']) {
    for (let n = 0; n < 50; n += 1) assert.match(stringMatching(source, random), new RegExp(source));
  }
});

test('existing tests are recorded without the framework', async () => {
  const globals = {};
  const order = [];
  const found = recordTests(globals, () => {
    globals.describe('a', () => {
      globals.beforeEach(() => order.push('before'));
      globals.it('b', () => order.push('b'));
      globals.it.each([[1, 2]])('c', (one, two) => order.push(one + two));
      globals.it.skip('d', () => order.push('d'));
    });
    globals.test('e', () => {
      throw new Error('no');
    });
  });
  assert.deepEqual(found.map(({ name }) => name), ['b', 'c', 'e']);
  const passed = [];
  for (const one of found) passed.push(await passes(one));
  assert.deepEqual([passed, order], [[true, true, false], ['before', 'b', 'before', 3]]);
  assert.equal(globals.it, undefined);
});

test('an object with functions loses its properties one by one', () => {
  const found = [...simpler('{ unknown: (a, b) => a - b, alias: { a: true }, string: 1 }', evaluate)];
  assert.deepEqual(found.slice(0, 3), ['{ alias: { a: true }, string: 1 }', '{ unknown: (a, b) => a - b, string: 1 }', '{ unknown: (a, b) => a - b, alias: { a: true } }']);
});

const outcome = (result, more = {}) => ({ steps: [], effects: [], getters: [], async: false, result, ...more });
const value = (text) => ({ kind: 'value', text });
const thrown = (name, message) => ({ kind: 'throws', name, message });

test('two outcomes differ in what a caller can see', () => {
  const cases = [
    [outcome(value('1')), outcome(value('1')), null],
    [outcome(value('1')), outcome(value('2')), 'value'],
    [outcome(value('1')), outcome(thrown('Error', 'no')), 'exception'],
    [outcome(thrown('Error', 'no')), outcome(thrown('Error', 'never')), 'exception'],
    // The engine names variables, which are no behaviour.
    [outcome(thrown('TypeError', 'list.map is not a function')), outcome(thrown('TypeError', 'items.map is not a function')), null],
    [outcome(value('1')), outcome({ kind: 'hangs' }), 'hang'],
    [outcome({ kind: 'hangs', grew: 1 }), outcome({ kind: 'hangs' }), null],
    [outcome(value('1')), outcome({ kind: 'forbidden', text: 'the code tries to use the network' }), null],
    [outcome(value('1'), { output: 'a\n' }), outcome(value('1')), 'output'],
    [outcome(value('1'), { effects: [{ index: 0, text: '[1]' }] }), outcome(value('1')), 'arguments'],
    [outcome(value('1'), { files: { 'a.txt': 'x' } }), outcome(value('1'), { files: { 'a.txt': 'y' } }), 'files'],
    [outcome(value('1'), { added: ['Object.prototype.x'] }), outcome(value('1')), 'state'],
  ];
  for (const [before, after, kind] of cases) assert.equal(kindOfDifference(before, after), kind, JSON.stringify([before, after]));
});

test('a hang repeats only if the other version ends early', () => {
  const answer = (kind, cpu) => ({ outcome: outcome({ kind }), cpu });
  const found = { kind: 'hang', before: answer('returns'), after: answer('hangs') };
  for (const [before, after, expected] of [
    [answer('returns', 2), answer('hangs', 1000), true],
    [answer('returns', 900), answer('hangs', 1000), false],
    [answer('returns', 900), answer('returns', 990), false],
    [answer('returns', 2), answer('hangs'), true],
    [answer('returns', 2), undefined, false],
  ]) assert.equal(repeats(found, { before, after }), expected, JSON.stringify([before, after]));
  assert.equal(repeats(found, undefined), false);
});

test('what was added to the prototype of a builtin is found and removed', () => {
  const take = watchPrototypes();
  assert.equal(take(), null);
  Object.prototype.polluted = 1;
  assert.deepEqual(take(), ['Object.prototype.polluted']);
  assert.equal({}.polluted, undefined);
  assert.equal(take(), null);
});

test('lines become ranges', () => {
  assert.deepEqual(ranges([5, 3, 4, 9]), [[3, 5], [9, 9]]);
  assert.deepEqual(ranges([]), []);
});

const TAPE = `'use strict';
var test = require('tape');
var cart = require('../'), other = require('./other')
function price(x) { return x }

test('old', function (t) { t.equal(cart(1), 1); t.end(); });

test('sum', function (t) {
\tt.plan(2);
\tvar items = [1,
\t\t2];
\tvar unused = other();
\titems.push(price(3));
\tt.equal(items.length, 3);
\tt.deepEqual(cart(items), { sum: 6 });
\tt.end();
});
`;

test('a changed test is copied with what each assertion needs, for the framework that runs copies', () => {
  const { copies, header, imports, name } = copiesOf('test/sum.js', TAPE, TAPE.replace('{ sum: 6 }', '6'), 'vitest');
  assert.equal(name, 'test/sum-change.test.js');
  assert.deepEqual(imports, ["import { createRequire } from 'node:module';", "import { describe, expect, it } from 'vitest';"]);
  assert.ok(header.join('\n').includes('createHarness'));
  assert.equal(copies[1].shown, `  it('sum', async () => {
    var cart = require('../'), other = require('./other')
    function price(x) { return x }
    expect(await runTape((t) => {
      var items = [1,
        2];
      items.push(price(3));
      t.deepEqual(cart(items), { sum: 6 });
      t.end();
    })).toEqual([]);
  });`);
  // Only the changed assertion alone; the whole test comes after it, and then the test that did not change.
  assert.ok(copies.slice(0, -1).every(({ text }) => text.includes('{ sum: 6 }')));
  assert.ok(copies[copies.length - 2].text.includes('t.plan(2)'));
  assert.equal(copies[copies.length - 1].name, 'old');
});

test('a copy gets what its framework passed to the test', () => {
  const own = "const { test } = require('node:test')\nconst f = require('..')\ntest('one', (t) => {\n  t.plan(1)\n  t.assert.equal(f(1), 1)\n})\n";
  const { copies: [first], header, imports } = copiesOf('test/f.js', own, null, 'vitest');
  assert.ok(first.text.includes('const t = testContext();') && !first.text.includes('node:test'));
  assert.ok(header.join('\n').includes('function testContext()') && imports[0] === "import nodeAssert from 'node:assert';");
  const picked = "import test from 'ava';\nimport f from '../f.js';\ntest('one', async ({ is }) => {\n  is(f(1), 1);\n});\n";
  assert.ok(copiesOf('test/f.js', picked, null, 'vitest').copies[0].text.includes('const { is } = testContext();'));
  const waits = "const f = require('..')\nit('one', function (done) {\n  f(1, function (x) {\n    assert.equal(x, 1)\n    done()\n  })\n})\n";
  const whole = copiesOf('test/f.js', waits, null, 'jest').copies[0].text;
  assert.ok(whole.includes('const done = (error) => (error ? reject(error) : resolve());'));
  const plain = "const assert = require('assert')\nconst f = require('..')\nit('one', () => {\n  assert.equal(f(1), 1)\n})\n";
  assert.ok(!copiesOf('test/f.js', plain, null, 'jest').header.join('\n').includes('testContext'));
});

test('groups, hooks and scripts are copied too', () => {
  const mocha = `const { expect } = require('chai');
describe('cart', function () {
  let made
  beforeEach(() => { made = { a: 1 } })
  it('adds', () => { expect(made.a).to.equal(1) })
  it.skip('later', () => { expect(made.b).to.equal(1) })
})
`;
  const [first] = copiesOf('test.js', mocha, null, 'jest').copies;
  assert.equal(first.name, 'cart adds');
  assert.ok(first.text.includes("require('chai')") && first.text.includes('let made') && first.text.includes('await (async () => { made = { a: 1 } })();'));
  const script = "var assert = require('assert')\nvar f = require('./f')\nassert.equal(f(1), 1)\nassert.equal(f(2), 3)\n";
  const { copies } = copiesOf('test.js', script, script.replace('3', '2'), 'vitest');
  assert.ok(copies[0].text.includes('f(2), 3') && !copies[0].text.includes('f(1)'));
});

test('pieces of tests are functions of their literals', () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'pieces-'));
  const write = (name, text) => {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    fs.writeFileSync(path.join(root, name), text);
  };
  write('package.json', '{"name": "shop", "main": "./lib/shop"}');
  write('lib/shop.js', 'exports.Cart = class {};');
  write('test/shop.js', `const test = require('tape');
const { Cart } = require('..');
test('prices', (t) => {
  t.plan(2);
  const cart = new Cart({ size: 3 });
  cart.add('apple', 2);
  t.equal(cart.total(), 4);
  t.throws(() => cart.add(null), /no name/);
  t.ok(true);
  t.end();
});
`);
  write('test/other.mjs', "import assert from 'node:assert';\nimport shop, { Cart as Basket } from '../lib/shop.js';\nassert.ok(new Basket(1).isOpen(shop));\n");
  const found = snippetsOf(root, ['test/shop.js', 'test/other.mjs'], 'lib/shop.js');
  fs.rmSync(root, { recursive: true });
  assert.deepEqual(found.map((one) => parts({ target: one, args: one.examples[0] })), [
    { setup: "const { Cart } = load('lib/shop.js');\nconst cart = new Cart({ size: 3 });\ncart.add('apple', 2);", observed: 'cart.total()' },
    { setup: "const { Cart } = load('lib/shop.js');\nconst cart = new Cart({ size: 3 });\ncart.add('apple', 2);", observed: '(() => cart.add(null))()' },
    { setup: "const shop = load('lib/shop.js').default ?? load('lib/shop.js');\nconst { Cart: Basket } = load('lib/shop.js');", observed: 'new Basket(1).isOpen(shop)' },
  ]);
  assert.deepEqual(found[0].examples, [['3', "'apple'", '2']]);
  const made = new Function('load', `return ${found[0].expression}`)(() => ({ Cart: class { add(name, count) { this.count = count; } total() { return this.count * 2; } } }));
  assert.equal(made('3', 'apple', 5), 10);
});

test('an object with functions is observed by its members', () => {
  const { observe } = part('observe');
  assert.equal(observe({ all: new Map(), on() {}, 'a-b': 1 }).text, "{ all: new Map([]), on: expect.any(Function), 'a-b': 1 }");
  assert.equal(observe({ on() {}, other: Symbol('x') }), null);
  assert.equal(observe(new (class Box { constructor() { this.size = 1; this.none = undefined; } })()).text, '{ size: 1 }');
});

test('a module whose loading takes too long is loaded anew', () => {
  const { withTimeout } = part('run');
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'slow-'));
  const file = path.join(root, 'slow.cjs');
  fs.writeFileSync(file, 'const until = Date.now() + 300;\nwhile (Date.now() < until);\nmodule.exports = class {};\n');
  assert.throws(() => withTimeout(() => require(file), 30, 0), { code: 'ERR_SCRIPT_EXECUTION_TIMEOUT' });
  assert.equal(typeof require(file), 'function');
  fs.rmSync(root, { recursive: true });
});

test('an error of the engine about wrong types is misuse, unless the code throws it', () => {
  const { isMisuse } = part('defects');
  const call = { target: { params: [{}], steps: [] }, args: ['0'], steps: [] };
  const outcome = { result: { kind: 'throws', name: 'TypeError', message: 'listener is not a function' }, steps: [] };
  const search = (text) => ({ plan: { texts: [text] } });
  assert.ok(isMisuse(search('listener()'), call, outcome));
  assert.ok(!isMisuse(search("throw new TypeError(name + ' is not a function')"), call, outcome));
  assert.ok(!isMisuse(search(''), call, { ...outcome, result: { ...outcome.result, message: 'no such unit' } }));
});

test('texts are quoted with as few escapes as possible', () => {
  const { quote, quotedTitle } = part('literals');
  assert.equal(quote("it's"), '"it\'s"');
  assert.equal(quote('a "b"'), "'a \"b\"'");
  assert.equal(quote('\'"\n'), "'\\'\"\\n'");
  assert.equal(quotedTitle('\'a "b"\' returns `c`'), "'\\'a \"b\"\\' returns `c`'");
  assert.equal(quotedTitle('f(\'a "b"\')'), '`f(\'a "b"\')`');
  for (const text of ["it's", 'a "b"', '\'"`${x}\\', '\n\u2028']) assert.equal(evaluate([quote(text)])[0], text);
  for (const text of ['\'a\' "b" \\n', '\'"`${x}\\', '\'"${x}']) assert.equal(evaluate([quotedTitle(text)])[0], text);
});

test('arguments that change nothing are removed', () => {
  const { CallGenerator } = part('cases');
  const target = { kind: 'function', name: 'f', params: [{ sure: true }, { sure: false }], steps: [], factories: [] };
  const simpler = [...new CallGenerator(seededRandom(1), {}, [target]).simplerCalls({ target, args: ["'a'", '{}'], steps: [] }, evaluate)];
  assert.deepEqual(simpler[0].args, ["'a'"]);
  assert.equal(simpler[0].sameResult, true);
});

test('long texts are shown where they differ', () => {
  assert.deepEqual(apart('a', 'b'), ['a', 'b']);
  const [before, after] = apart(`${'x'.repeat(500)}1`, `${'x'.repeat(500)}2`);
  assert.deepEqual([before, after], [`…${'x'.repeat(40)}1`, `…${'x'.repeat(40)}2`]);
});

test('functions in tables and methods of a prototype that was written down are targets', () => {
  function Big(n) { this.n = n; }
  Big.prototype = { plus(other) { return new Big(this.n + other); }, abs() { return Math.abs(this.n); } };
  const subject = { default: { rgb: { hsl: (color) => color, size: 3 }, hsl: { rgb: (color) => color } }, Big };
  const found = findTargets(subject, { identifier: 'convert', functions: {}, classes: {} });
  assert.deepEqual(found.map((target) => target.expression), ['subject.default.rgb.hsl', 'subject.default.hsl.rgb', 'subject.Big']);
  assert.deepEqual(found[2].steps.map((step) => step.name), ['plus', 'abs']);
});
