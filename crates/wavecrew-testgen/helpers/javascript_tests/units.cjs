// Unit tests of the JavaScript helper.
'use strict';

const assert = require('node:assert/strict');
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
