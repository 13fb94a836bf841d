// Writes what was found as a test file that a person would keep.
'use strict';

const { madeText, shown, stepText } = require('./cases.cjs');
const { quote } = require('./literals.cjs');

const TITLE = 90;

function short(text) {
  const line = text.replace(/\s+/g, ' ');
  return line.length <= TITLE ? line : `${line.slice(0, TITLE - 1)}…`;
}

// In the quotes that need the fewest escapes.
function titled(text) {
  return text.includes("'") && !text.includes('"') ? JSON.stringify(text) : quote(text);
}

// Names without the module in front of them.
function bare(source, search) {
  return source.replace(/\bsubject\.(default\b)?/g, (_, isDefault) => (isDefault ? search.plan.stem : '')).replace(/\bsubject\b/g, search.plan.stem);
}

function expectation(expression, result, isAsync) {
  const value = isAsync ? `await ${expression}` : expression;
  switch (result.kind) {
    case 'value':
      if (result.float) return `expect(${value}).toBeCloseTo(${result.text}, 10);`;
      return `expect(${value}).${result.object ? 'toEqual' : 'toBe'}(${result.text});`;
    case 'items':
      return `expect([...${value}]).toEqual(${result.text});`;
    case 'fields':
      return `expect(${value}).toMatchObject(${result.text});`;
    case 'type':
      return `expect(typeof ${isAsync ? `(${value})` : value}).toBe('function');`;
    case 'instance':
      return `expect((${value}).constructor.name).toBe(${quote(result.text)});`;
    default:
      return null;
  }
}

// The engine's own words differ between versions: then the kind of the error is enough.
function complaint(result) {
  const own = /cannot (read|set|convert|destructure|access)|is not (a function|iterable|defined|an object)|undefined|unexpected token|invalid (array length|time value|date)/i.test(result.message);
  if (own || result.message === '' || result.message.length > 120) {
    const builtIn = ['TypeError', 'RangeError', 'SyntaxError', 'ReferenceError', 'URIError', 'EvalError', 'Error'];
    return builtIn.includes(result.name) ? result.name : '';
  }
  // The whole of it: a text would be found inside of others, too.
  return `/^${result.message.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&').replace(/\n/g, '\\n').replace(/\r/g, '\\r').replace(/[\u2028\u2029]/g, '.')}$/`;
}

function body(found, search) {
  const { outcome, target } = found;
  const list = (args) => bare(args.join(', '), search);
  const lines = [];
  if (target.kind === 'function') {
    const name = bare(target.expression, search);
    const { result } = outcome;
    if (result.kind === 'throws') {
      if (result.name === null) return null;
      const call = `${name}(${list(found.args)})`;
      lines.push(outcome.async
        ? `await expect(${call}).rejects.toThrow(${complaint(result)});`
        : `expect(() => ${call}).toThrow(${complaint(result)});`);
      return { lines, isAsync: outcome.async, title: `${short(list(found.args)) || 'no argument'} throws ${result.name}` };
    }
    let args = list(found.args);
    if (outcome.effects.length > 0) {
      const names = found.args.map((arg, index) => (outcome.effects.some((effect) => effect.index === index) ? `given${index === 0 ? '' : index + 1}` : bare(arg, search)));
      outcome.effects.forEach(({ index }) => lines.push(`const ${names[index]} = ${bare(found.args[index], search)};`));
      args = names.join(', ');
    }
    const line = expectation(`${name}(${args})`, result, outcome.async);
    if (line === null) return null;
    lines.push(line);
    outcome.effects.forEach(({ index, text }) => lines.push(`expect(given${index === 0 ? '' : index + 1}).toEqual(${text});`));
    const what = result.kind === 'value' || result.kind === 'items' ? short(result.text) : `a ${result.kind === 'type' ? 'function' : 'thing of its kind'}`;
    return { lines, isAsync: outcome.async, title: `${short(list(found.args)) || 'no argument'} gives ${what}` };
  }
  const name = bare(target.expression, search);
  // Objects that came another way are said to.
  const source = found.via ? `made by ${bare(found.via.expression, search)} of` : 'made of';
  if (outcome.result.kind === 'throws') {
    if (outcome.result.name === null) return null;
    return { lines: [`expect(() => ${bare(madeText(found), search)}).toThrow(${complaint(outcome.result)});`], title: `cannot be ${source} ${short(list(found.args)) || 'nothing'}` };
  }
  lines.push(`const made = ${bare(madeText(found), search)};`);
  let isAsync = false;
  const names = [];
  outcome.steps.forEach((step, index) => {
    const call = bare(stepText('made', found.steps[index]), search);
    const { how, name: method } = found.steps[index];
    names.push(how === 'set' ? `set ${method}` : method);
    isAsync = isAsync || Boolean(step.async);
    if (step.result.kind === 'self') lines.push(`expect(${call}).toBe(made);`);
    else if (step.result.kind === 'throws' && step.async) lines.push(`await expect(${call}).rejects.toThrow(${complaint(step.result)});`);
    else if (step.result.kind === 'throws') lines.push(`expect(() => ${how === 'set' ? `{ ${call}; }` : call}).toThrow(${complaint(step.result)});`);
    else if (how === 'set') lines.push(`${call};`);
    else lines.push(expectation(call, step.result, step.async) || `${call};`);
  });
  outcome.getters.forEach(({ name: getter, result }) => lines.push(expectation(`made.${getter}`, result, false)));
  if (outcome.result.kind === 'fields') lines.push(`expect(made).toMatchObject(${outcome.result.text});`);
  else if (!lines.some((line) => line.startsWith('expect'))) lines.push(`expect(made).toBeInstanceOf(${name});`);
  return { lines, isAsync, title: names.length > 0 ? `${source} ${short(list(found.args)) || 'nothing'}: ${short(names.join(', then '))}` : `${source} ${short(list(found.args)) || 'nothing'}` };
}

function imports(search, used, words = 'describe, expect, it') {
  const { plan } = search;
  const named = [...new Set(used.filter((name) => name !== 'default'))];
  const whole = used.includes('default') || typeof search.subject === 'function';
  const lines = [];
  if (plan.style === 'require' && plan.framework === 'jest') {
    if (whole) lines.push(`const ${plan.stem} = require(${quote(plan.importPath)})${used.includes('default') && search.subject.default !== undefined ? '.default' : ''};`);
    if (named.length > 0 && !(whole && named.every((name) => name === plan.stem))) lines.push(`const { ${named.join(', ')} } = require(${quote(plan.importPath)});`);
  } else {
    const parts = [];
    if (whole) parts.push(plan.stem);
    if (named.length > 0) parts.push(`{ ${named.join(', ')} }`);
    lines.push(`import ${parts.join(', ')} from ${quote(plan.importPath)};`);
  }
  if (plan.framework === 'vitest') lines.unshift(`import { ${words} } from 'vitest';`);
  else if (plan.typescript) lines.unshift(`import { ${words} } from '@jest/globals';`);
  return lines;
}

// Suspected defects that were not told before, each with a test that fails until it is mended.
function quarantine(search) {
  const { plan } = search;
  // What takes long or much with large numbers may be meant so.
  const ended = plan.grief.ended.filter(({ text }) => !/\d{5}/.test(text)).map((defect) => ({ ...defect, ...search.avoided.get(defect.target), name: defect.target }));
  const found = search.defects.map((defect) => ({ ...defect, name: defect.target.name, text: search.label(defect.call), at: lineOf(defect.call), used: `${shown(defect.call)} ${defect.check || ''}` }));
  const all = [...ended, ...found].filter(({ name, kind }) => !plan.known.some((line) => line.startsWith(`// ${name}: ${kind}:`)));
  const top = [`// Suspected defects of ${plan.shown}, found without knowing what was meant: to be judged by a person.`];
  if (all.some(isEndless)) top.push(plan.style === 'require' && plan.framework === 'jest' ? "const { runInNewContext } = require('node:vm');" : "import { runInNewContext } from 'node:vm';");
  top.push(...imports(search, namesIn(all.map((defect) => defect.used).join(' ')), 'expect, it'));
  return { quarantine_top: top, defects: all.map((defect) => suspect(defect, search)) };
}

function isEndless({ kind }) {
  return kind === 'does not end' || kind === 'runs out of memory';
}

function lineOf({ target, steps }) {
  const last = steps[steps.length - 1];
  const kind = last && target.steps.find((one) => one.name === last.name && one.how === last.how);
  return (kind && kind.line) || target.line || 0;
}

function suspect(defect, search) {
  const { kind, what, expected, check, at } = defect;
  const { text } = defect;
  const attempt = text.startsWith('made = ') ? `() => { const ${text}; }` : `() => ${text}`;
  let line = `expect(${attempt}).not.toThrow();`;
  if (isEndless(defect)) line = `expect(() => runInNewContext('attempt()', { attempt: ${attempt} }, { timeout: 1000 })).not.toThrow();`;
  else if (expected) line = `expect(${defect.async ? 'await ' : ''}${bare(check || text, search)}).toEqual(${expected});`;
  else if (defect.async) line = `expect(await (async ${attempt})().then(() => 'settled')).toBe('settled');`;
  const note = `// ${defect.name}: ${kind}: ${what.replace(/\s+/g, ' ')}`;
  return { kind, call: text, what, line: at, test: `${note}\nit(${titled(short(`${text}: ${kind}`))}, ${defect.async ? 'async ' : ''}() => {\n  ${line}\n});` };
}

// Names of the module that a source mentions.
function namesIn(source) {
  return [...source.matchAll(/\bsubject\.([A-Za-z_$][\w$]*)/g)].map((match) => match[1]);
}

function render(search) {
  const { plan } = search;
  const used = [];
  const tests = [];
  const titles = new Set();
  for (const target of search.found) {
    const cases = search.cases.get(target.name);
    const failed = (found) => found.outcome.result.kind === 'throws';
    for (const found of [...cases.filter((one) => !failed(one)), ...cases.filter(failed)]) {
      const made = body(found, search);
      if (made === null) continue;
      let { title } = made;
      const label = bare(target.expression, search);
      for (let n = 2; titles.has(`${label} > ${title}`); n += 1) title = `${made.title} (${n})`;
      titles.add(`${label} > ${title}`);
      const inner = made.lines.map((line) => `    ${line}`).join('\n');
      tests.push({ group: label, title, text: `  it(${titled(title)}, ${made.isAsync ? 'async ' : ''}() => {\n${inner}\n  });` });
      // Names that arguments mention have to be there, too.
      const mentioned = `${target.expression} ${found.via ? found.via.expression : ''} ${found.args.join(' ')} ${found.steps.map((step) => step.args.join(' ')).join(' ')}`;
      used.push(...namesIn(mentioned));
    }
  }
  const header = `// Records what ${plan.shown} does${plan.commit ? ` as of ${plan.commit}` : ' now'}: a test that fails says that behaviour has changed.`;
  const reached = [...search.cases].filter(([, list]) => list.length > 0).map(([name]) => name);
  return {
    top: [header, ...imports(search, used)], tests, covers: reached, calls: search.calls,
    ...quarantine(search), ...search.judged, known: search.known.length,
    left_out: [...search.left].map(([what, why]) => ({ what, why })),
  };
}

module.exports = { bare, body, render };
