// Writes what was found as a test file that a person would keep.
'use strict';

const { shown, stepText } = require('./calls.cjs');
const { quote } = require('./literal.cjs');

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
  return quote(result.message);
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
  if (outcome.result.kind === 'throws') {
    if (outcome.result.name === null) return null;
    return { lines: [`expect(() => new ${name}(${list(found.args)})).toThrow(${complaint(outcome.result)});`], title: `cannot be made of ${short(list(found.args)) || 'nothing'}` };
  }
  lines.push(`const made = new ${name}(${list(found.args)});`);
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
  return { lines, isAsync, title: names.length > 0 ? `made of ${short(list(found.args)) || 'nothing'}: ${short(names.join(', then '))}` : `made of ${short(list(found.args)) || 'nothing'}` };
}

function imports(search, used) {
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
  if (plan.framework === 'vitest') lines.unshift("import { describe, expect, it } from 'vitest';");
  else if (plan.typescript) lines.unshift("import { describe, expect, it } from '@jest/globals';");
  return lines;
}

// A suspected defect with a test that fails until it is mended.
function suspect({ kind, call, what, expected, line }, search) {
  const text = bare(shown(call), search);
  const lines = [];
  if (call.target.kind === 'class') {
    lines.push(`const made = new ${bare(call.target.expression, search)}(${bare(call.args.join(', '), search)});`);
    call.steps.forEach((step) => lines.push(`${bare(stepText('made', step), search)};`));
  } else if (expected) lines.push(`expect(${bare(line || shown(call), search)}).toEqual(${expected});`);
  else lines.push(`expect(() => ${text}).not.toThrow();`);
  const used = [...`${shown(call)} ${line || ''}`.matchAll(/\bsubject\.([A-Za-z_$][\w$]*)/g)].map((match) => match[1]);
  const body = lines.map((each) => `  ${each}`).join('\n');
  return { kind, call: text, what, top: imports(search, used), test: `// ${what.replace(/\s+/g, ' ')}\nit(${titled(short(`${text}: ${kind}`))}, () => {\n${body}\n});` };
}

function render(search) {
  const { plan } = search;
  const used = [];
  const tests = [];
  const titles = new Set();
  for (const target of search.found) {
    const cases = search.cases.get(target.name);
    // Failures say least: one is enough where there is something better.
    const good = cases.filter((found) => found.outcome.result.kind !== 'throws');
    const bad = cases.filter((found) => found.outcome.result.kind === 'throws' && (found.news || good.length === 0));
    for (const found of [...good, ...bad.slice(0, good.length > 0 ? 4 : 2)]) {
      const made = body(found, search);
      if (made === null) continue;
      let { title } = made;
      const label = bare(target.expression, search);
      for (let n = 2; titles.has(`${label} > ${title}`); n += 1) title = `${made.title} (${n})`;
      titles.add(`${label} > ${title}`);
      const inner = made.lines.map((line) => `    ${line}`).join('\n');
      tests.push({ group: label, title, text: `  it(${titled(title)}, ${made.isAsync ? 'async ' : ''}() => {\n${inner}\n  });` });
      // Names that arguments mention have to be there, too.
      const mentioned = `${target.expression} ${found.args.join(' ')} ${found.steps.map((step) => step.args.join(' ')).join(' ')}`;
      for (const match of mentioned.matchAll(/\bsubject\.([A-Za-z_$][\w$]*)/g)) used.push(match[1]);
    }
  }
  const header = `// Records what ${plan.shown} does${plan.commit ? ` as of ${plan.commit}` : ' now'}: a test that fails says that behaviour has changed.`;
  const reached = [...search.cases].filter(([, list]) => list.length > 0).map(([name]) => name);
  return {
    top: [header, ...imports(search, used)], tests, covers: reached, calls: search.calls,
    defects: search.defects.map((defect) => suspect(defect, search)),
    left_out: [...search.left].map(([what, why]) => ({ what, why })),
  };
}

module.exports = { render };
