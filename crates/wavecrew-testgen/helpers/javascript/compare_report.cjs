// What a comparison found: differences by cause, the changed lines that were reached, and tests.
'use strict';

const { dirname, relative } = require('node:path');
const { callText, constructionText, stepText } = require('./cases.cjs');
const { kindOfAnswers, outcomeText, plain, same } = require('./compare_outcomes.cjs');
const { literal, quote } = require('./literals.cjs');
const { imports, namesIn, quotedTitle, snippetBody, testBody, withoutSubject } = require('./render.cjs');

const MAX_TEXT = 300;
const MAX_GUARDS = 12;
const MAX_TITLE = 120;
// How much of two long texts is shown before they begin to differ.
const CONTEXT = 40;

class ComparisonReport {
  constructor(request, described, search) {
    this.request = request;
    this.search = search;
    const { mainName, exports, isFunction, hasDefault } = described.new;
    const isFree = /^[A-Za-z_$][\w$]*$/.test(mainName) && !['default', 'exports'].includes(mainName) && !exports.includes(mainName);
    this.shownAs = {
      plan: { ...request, identifier: isFree ? mainName : request.identifier },
      subject: isFunction ? Object.assign(() => {}, hasDefault ? { default: true } : {}) : { default: hasDefault ? true : undefined },
    };
    this.lines = { old: {}, new: {} };
    this.loadLines = { old: {}, new: {} };
    this.differences = [];
    this.guards = [];
    this.pieces = [];
    this.executable = {};
  }

  // Lines by file, relative to the root.
  inner(lines, side) {
    return Object.fromEntries(Object.entries(lines).map(([path, numbers]) => [relative(this.request[`${side}_root`], path), numbers]));
  }

  // What ran when the versions were loaded, and what can run.
  atLoad(before, after) {
    this.loadLines = { old: this.inner(before.reached, 'old'), new: this.inner(after.reached, 'new') };
    this.executable = this.inner(after.executable, 'new');
    this.add(this.loadLines);
  }

  reached({ old: before, new: after }) {
    this.add({ old: this.inner(before, 'old'), new: this.inner(after, 'new') });
  }

  add(found) {
    for (const side of ['old', 'new']) {
      for (const [file, numbers] of Object.entries(found[side])) {
        const known = (this.lines[side][file] = this.lines[side][file] || new Set());
        for (const number of numbers) known.add(number);
      }
    }
  }

  // A call that reaches changed lines and behaves the same.
  addSame({ call, before, after }) {
    const known = call.target.snippet ? this.pieces : this.guards;
    if (known.length >= MAX_GUARDS || !before || !after || kindOfAnswers(before, after) !== null) return;
    if (!same(plain(before.outcome), plain(after.outcome)) || !['value', 'items', 'throws', 'fields'].includes(after.outcome.result && after.outcome.result.kind)) return;
    known.push({ call, after });
  }

  // One difference for each cause. Inputs of the same function that differ in the same way have a cause of their own only if
  // they reach changed lines that simpler ones do not.
  grouped(confirmed) {
    const groups = new Map();
    for (const one of confirmed) {
      const cause = this.cause(one);
      const key = JSON.stringify([functionName(one.call, this.shownAs), one.kind, cause.file]);
      const known = groups.get(key) || groups.set(key, { lines: new Set(), found: [] }).get(key);
      const lines = [...numbered('old', cause.old), ...numbered('new', cause.new)];
      if (known.found.length > 0 && lines.every((line) => known.lines.has(line))) known.found[0].inputs += one.count;
      else known.found.push(this.difference(one, cause));
      for (const line of lines) known.lines.add(line);
    }
    this.differences = [...groups.values()].flatMap(({ found }) => found);
    return this.differences.map(({ made, ...rest }) => rest);
  }

  cause({ lines }) {
    const sides = { old: this.inner(lines.old, 'old'), new: this.inner(lines.new, 'new') };
    const isEmpty = Object.keys(sides.old).length === 0 && Object.keys(sides.new).length === 0;
    const from = isEmpty ? this.loadLines : sides;
    // What runs at load may come from several files: the compared one is the most likely cause.
    const own = (file) => (isEmpty && file === this.request.file ? 1e6 : 0);
    const weight = (file) => own(file) + (from.old[file] || []).length + (from.new[file] || []).length;
    const files = [...new Set([...Object.keys(from.old), ...Object.keys(from.new)])].sort((one, other) => weight(other) - weight(one));
    const file = files[0] || this.request.changed[0].file;
    return { file, old: ranges(from.old[file] || []), new: ranges(from.new[file] || []) };
  }

  difference(one, cause) {
    const { call, before, after, kind, count } = one;
    const text = (source) => withoutSubject(source, this.shownAs);
    const statements = call.target.snippet ? required(callText(call), '.').split('\n') : call.target.kind === 'class' ? [`const made = ${constructionText(call)}`, ...call.steps.map((step) => stepText('made', step))].map(text) : [text(callText(call))];
    const isMade = call.target.kind === 'class' && call.steps.length === 0;
    const made = this.request.tests.change ? this.test(one) : null;
    const [oldText, newText] = apart(outcomeText(before.outcome, after.outcome, kind), outcomeText(after.outcome, before.outcome, kind));
    return {
      file: this.request.file, function: functionName(call, this.shownAs), line: call.target.line || 0, kind,
      setup: isMade ? [] : statements.slice(0, -1),
      input: isMade ? text(constructionText(call)) : statements[statements.length - 1],
      before: kind === 'slow' ? `${before.steps} steps` : oldText,
      after: kind === 'slow' ? `${after.steps} steps, with the same result` : newText,
      old_lines: cause.old, new_lines: cause.new, cause_file: cause.file, inputs: count,
      test: made && made.text, made,
    };
  }

  // A test that passes on the new version and fails on the old one, or null.
  test({ call, before, after, kind }) {
    if (kind === 'output') return this.outputTest(call, after.outcome);
    if (['hang', 'crash', 'files', 'slow'].includes(kind)) return null;
    if (!same(before.outcome.added, after.outcome.added)) return after.outcome.added === undefined && call.target.kind === 'function' && !after.outcome.async ? this.pollutionTest(call, before.outcome) : null;
    const body = this.body(call, after.outcome);
    const old = this.body(call, before.outcome);
    if (body === null || (old !== null && same(old.lines, body.lines))) return null;
    return this.written(call, body);
  }

  // What a function prints with console.log. Other output has no test.
  outputTest(call, { output = '', async: isAsync, result }) {
    if (call.target.kind !== 'function' || output.includes('[stderr]') || isAsync || result.kind === 'throws') return null;
    const text = withoutSubject(callText(call), this.shownAs);
    const expected = literal(output === '' ? [] : output.replace(/\n$/, '').split('\n'));
    if (expected === null) return null;
    const lines = ['const realLog = console.log;', 'const printed = [];', 'console.log = (...args) => printed.push(...args.join(\' \').split(\'\\n\'));',
      'try {', `  ${text};`, '} finally {', '  console.log = realLog;', '}', `expect(printed).toEqual(${expected});`];
    return this.written(call, { lines, title: `${text} prints ${output === '' ? 'nothing' : short(expected, 60)}`, isAsync: false });
  }

  // The old version added something to the prototype of a builtin.
  pollutionTest(call, { added }) {
    const text = withoutSubject(callText(call), this.shownAs);
    const [name] = added;
    const owner = name.slice(0, name.indexOf('.prototype.') + '.prototype'.length);
    const key = name.slice(owner.length + 1);
    const lines = [`try {`, `  ${text};`, `  expect(Object.hasOwn(${owner}, ${quotedTitle(key)})).toBe(false);`, `} finally {`, `  delete ${owner}[${quotedTitle(key)}];`, `}`];
    return this.written(call, { lines, title: `${text} adds nothing to ${owner}`, isAsync: false });
  }

  body(call, outcome) {
    if (!outcome.result || ['shown', 'overflows', 'hangs', 'crash', 'forbidden'].includes(outcome.result.kind)) return null;
    if (JSON.stringify(outcome).includes('<project>')) return null;
    if (outcome.steps.some((step) => ['shown', 'overflows', 'hangs'].includes(step.result.kind))) return null;
    if (call.target.snippet) return snippetBody({ ...call, outcome });
    return testBody({ ...call, outcome }, this.shownAs);
  }

  written(call, body) {
    const { snippet } = call.target;
    const group = snippet ? snippet.label : withoutSubject(call.target.expression, this.shownAs);
    const inner = body.lines.flatMap((line) => line.split('\n')).map((line) => `    ${line}`).join('\n');
    const title = short((body.longerTitle && body.longerTitle.length < MAX_TITLE ? body.longerTitle : body.title), MAX_TITLE);
    if (snippet) return { group, title, names: [], isAsync: body.isAsync, inner, loads: true, text: required(`it(${quotedTitle(title)}, ${body.isAsync ? 'async ' : ''}() => {\n${inner.replace(/^ {2}/gm, '')}\n});`, '..') };
    const mentioned = `${call.target.expression} ${call.factory ? call.factory.expression : ''} ${call.args.join(' ')} ${call.steps.map((step) => step.args.join(' ')).join(' ')}`;
    return { group, title, names: namesIn(mentioned), isAsync: body.isAsync, inner, text: `it(${quotedTitle(title)}, ${body.isAsync ? 'async ' : ''}() => {\n${inner.replace(/^ {2}/gm, '')}\n});` };
  }

  // The parts of a test file. The caller runs the tests before it writes those that hold.
  file(kind, tests) {
    const { request } = this;
    const titles = new Set();
    const named = tests.map(({ group, title, isAsync, inner }) => {
      let free = title;
      for (let n = 2; titles.has(`${group} ${free}`); n += 1) free = `${title} (${n})`;
      titles.add(`${group} ${free}`);
      return { group, title: free, text: `  it(${quotedTitle(free)}, ${isAsync ? 'async ' : ''}() => {\n${inner}\n  });` };
    });
    const what = kind === 'change' ? 'Records what a change made' : 'Records what a change left alone in';
    const from = kind === 'change' ? ` different in ${request.shownPath}` : ` ${request.shownPath}`;
    const header = `// ${what}${from}${request.commit ? ` as of commit ${request.commit}` : ''}. A failure means that behaviour changed, not that the change is wrong.`;
    const used = tests.flatMap((test) => test.names);
    const first = tests.every((test) => test.loads) ? imports(this.shownAs, []).filter((line) => !line.endsWith(`from ${quote(request.importPath)};`)) : imports(this.shownAs, used);
    if (tests.some((test) => test.loads)) {
      const up = dirname(request.testNames[kind]).split('/').filter((part) => part !== '.').map(() => '..').join('/') || '.';
      for (const test of named) test.text = required(test.text, up);
      if (request.framework === 'vitest') first.push("import { createRequire } from 'node:module';", '', 'const require = createRequire(import.meta.url);');
    }
    return { name: request.testNames[kind], kind, header: [header, ...first], tests: named };
  }

  tests() {
    const found = [];
    if (!this.request.testNames) return found;
    const changes = this.differences.map(({ made }) => made).filter(Boolean);
    if (changes.length > 0) found.push(this.file('change', changes));
    if (!this.request.tests.guard) return found;
    // Pieces of tests repeat what direct calls show.
    const guards = [...this.guards, ...this.pieces].slice(0, MAX_GUARDS).map(({ call, after }) => {
      const body = this.body(call, after.outcome);
      return body && this.written(call, body);
    }).filter(Boolean);
    if (guards.length > 0) found.push(this.file('guard', guards));
    return found;
  }

  outcome(seconds) {
    const { request, search } = this;
    const lists = (side) => Object.fromEntries(Object.entries(this.lines[side]).map(([file, numbers]) => [file, [...numbers].sort((a, b) => a - b)]));
    const dropped = search.left();
    if (Object.values(request.tests).includes(true) && !request.testNames && this.differences.length + this.guards.length + this.pieces.length > 0) {
      dropped.push({ what: 'tests', why: 'none was written, because the project has neither vitest nor jest installed' });
    }
    if (search.targets.length === 0) dropped.push({ what: request.file, why: 'it has no functions that both versions export' });
    return {
      file: request.file, differences: this.differences.map(({ made, ...rest }) => rest), calls: search.calls, same: search.same,
      reached: { old: lists('old'), new: lists('new') }, executable: this.executable, left_out: dropped, seconds,
    };
  }
}

// A piece of a test that loads modules of the project like any other code. `up` is the path to the root.
function required(text, up) {
  return text.replace(/\bload\('([^']+)'\)/g, `require('${up}/$1')`);
}

// The function of a call, or the method that was called last.
function functionName(call, shownAs) {
  if (call.target.snippet) return call.target.snippet.label;
  const name = withoutSubject(call.target.expression, shownAs);
  const last = call.steps[call.steps.length - 1];
  return call.target.kind === 'class' && last && last.how !== 'spread' ? `${name}.${last.name}` : name;
}

function numbered(side, list) {
  return list.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, at) => `${side} ${first + at}`));
}

function ranges(lines) {
  const found = [];
  for (const line of [...lines].sort((a, b) => a - b)) {
    const last = found[found.length - 1];
    if (last && last[1] === line - 1) last[1] = line;
    else found.push([line, line]);
  }
  return found;
}

function short(text, most = MAX_TEXT) {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

// Two texts that differ, each short, with the place where they begin to differ.
function apart(one, other) {
  const texts = [short(one), short(other)];
  if (one === other || texts[0] !== texts[1]) return texts;
  let same = 0;
  while (one[same] === other[same]) same += 1;
  const from = Math.max(0, same - CONTEXT);
  return [one, other].map((text) => `…${short(text.slice(from), MAX_TEXT - 1)}`);
}

module.exports = { ComparisonReport, apart, ranges };
