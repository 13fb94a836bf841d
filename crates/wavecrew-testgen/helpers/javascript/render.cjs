// Renders cases as tests that read as if a person wrote them.
'use strict';

const { constructionText, stepText } = require('./cases.cjs');
const { quote, quotedTitle } = require('./literals.cjs');
const { parts } = require('./snippet_parts.cjs');

const MAX_TITLE = 90;

function shortened(text) {
  const line = text.replace(/\s+/g, ' ');
  return line.length <= MAX_TITLE ? line : `${line.slice(0, MAX_TITLE - 1)}…`;
}

// Source text without the module in front of its exports.
function withoutSubject(source, search) {
  return source.replace(/\bsubject\.(default\b)?/g, (_, isDefault) => (isDefault ? search.plan.identifier : '')).replace(/\bsubject\b/g, search.plan.identifier);
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

// Messages of the engine differ between versions: assert only the class of such errors.
function thrownMatcher(result) {
  const isEngineMessage = /cannot (read|set|convert|destructure|access)|is not (a function|iterable|defined|an object)|undefined|unexpected token|invalid (array length|time value|date)/i.test(result.message);
  if (isEngineMessage || result.message === '' || result.message.length > 120) {
    const builtIn = ['TypeError', 'RangeError', 'SyntaxError', 'ReferenceError', 'URIError', 'EvalError', 'Error'];
    return builtIn.includes(result.name) ? result.name : '';
  }
  // A string would also match inside longer messages.
  return `/^${result.message.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&').replace(/\n/g, '\\n').replace(/\r/g, '\\r').replace(/[\u2028\u2029]/g, '.')}$/`;
}

function testBody(found, search) {
  const { outcome, target } = found;
  const list = (args) => withoutSubject(args.join(', '), search);
  const lines = [];
  if (target.kind === 'function') {
    const name = withoutSubject(target.expression, search);
    const { result } = outcome;
    if (result.kind === 'throws') {
      if (result.name === null) return null;
      const call = `${name}(${list(found.args)})`;
      lines.push(outcome.async
        ? `await expect(${call}).rejects.toThrow(${thrownMatcher(result)});`
        : `expect(() => ${call}).toThrow(${thrownMatcher(result)});`);
      return { lines, isAsync: outcome.async, title: `${shortened(list(found.args)) || 'no argument'} throws ${result.name}` };
    }
    let args = list(found.args);
    if (outcome.effects.length > 0) {
      const names = found.args.map((arg, index) => (outcome.effects.some((effect) => effect.index === index) ? `given${index === 0 ? '' : index + 1}` : withoutSubject(arg, search)));
      outcome.effects.forEach(({ index }) => lines.push(`const ${names[index]} = ${withoutSubject(found.args[index], search)};`));
      args = names.join(', ');
    }
    const line = expectation(`${name}(${args})`, result, outcome.async);
    if (line === null) return null;
    lines.push(line);
    outcome.effects.forEach(({ index, text }) => lines.push(`expect(given${index === 0 ? '' : index + 1}).toEqual(${text});`));
    const what = { instance: 'an instance of its class', type: 'a function' }[result.kind] || shortened(result.text);
    return { lines, isAsync: outcome.async, title: `${shortened(list(found.args)) || 'no argument'} returns ${what}` };
  }
  const name = withoutSubject(target.expression, search);
  // The title names the factory.
  const source = found.factory ? `created by ${withoutSubject(found.factory.expression, search)} from` : 'created from';
  if (outcome.result.kind === 'throws') {
    if (outcome.result.name === null) return null;
    return { lines: [`expect(() => ${withoutSubject(constructionText(found), search)}).toThrow(${thrownMatcher(outcome.result)});`], title: `cannot be ${source} ${shortened(list(found.args)) || 'nothing'}` };
  }
  lines.push(`const made = ${withoutSubject(constructionText(found), search)};`);
  let isAsync = false;
  const names = [];
  const calls = [];
  outcome.steps.forEach((step, index) => {
    const call = withoutSubject(stepText('made', found.steps[index]), search);
    const { how, name: method } = found.steps[index];
    names.push(how === 'set' ? `set ${method}` : method);
    calls.push(call.replace(/^made\.?/, ''));
    isAsync = isAsync || Boolean(step.async);
    if (step.result.kind === 'self') lines.push(`expect(${call}).toBe(made);`);
    else if (step.result.kind === 'throws' && step.async) lines.push(`await expect(${call}).rejects.toThrow(${thrownMatcher(step.result)});`);
    else if (step.result.kind === 'throws') lines.push(`expect(() => ${how === 'set' ? `{ ${call}; }` : call}).toThrow(${thrownMatcher(step.result)});`);
    else if (how === 'set') lines.push(`${call};`);
    else lines.push(expectation(call, step.result, step.async) || `${call};`);
  });
  outcome.getters.forEach(({ name: getter, result }) => lines.push(expectation(`made.${getter}`, result, false)));
  if (outcome.result.kind === 'fields') lines.push(`expect(made).toMatchObject(${outcome.result.text});`);
  else if (!lines.some((line) => line.startsWith('expect'))) lines.push(`expect(made).toBeInstanceOf(${name});`);
  const title = `${source} ${shortened(list(found.args)) || 'nothing'}`;
  if (names.length === 0) return { lines, isAsync, title };
  return { lines, isAsync, title: `${title}: ${shortened(names.join(', then '))}`, longerTitle: `${title}: ${shortened(calls.join(', then '))}` };
}

// The lines of a test of a piece of a test.
function snippetBody({ target, args, outcome: { result, async: isAsync } }) {
  const { setup, observed } = parts({ target, args });
  const title = shortened(observed);
  if (result.kind === 'throws') {
    if (result.name === null) return null;
    const inner = [...(setup === '' ? [] : setup.split('\n')), `return ${observed};`].map((line) => `  ${line}`).join('\n');
    const what = isAsync ? `await expect((async () => {\n${inner}\n})()).rejects` : `expect(() => {\n${inner}\n})`;
    return { lines: [`${what}.toThrow(${thrownMatcher(result)});`], isAsync, title: `${title} throws ${result.name}` };
  }
  const line = expectation(observed, result, isAsync);
  if (line === null) return null;
  return { lines: setup === '' ? [line] : [setup, line], isAsync, title: `${title} returns ${result.kind === 'value' || result.kind === 'items' ? shortened(result.text) : `a ${result.kind === 'type' ? 'function' : 'result of its own'}`}` };
}

function imports(search, used, functions = 'describe, expect, it') {
  const { plan } = search;
  const named = [...new Set(used.filter((name) => name !== 'default'))];
  const whole = used.includes('default') || typeof search.subject === 'function';
  const lines = [];
  if (plan.style === 'require' && plan.framework === 'jest') {
    if (whole) lines.push(`const ${plan.identifier} = require(${quote(plan.importPath)})${used.includes('default') && search.subject.default !== undefined ? '.default' : ''};`);
    if (named.length > 0 && !(whole && named.every((name) => name === plan.identifier))) lines.push(`const { ${named.join(', ')} } = require(${quote(plan.importPath)});`);
  } else {
    const parts = [];
    if (whole) parts.push(plan.identifier);
    if (named.length > 0) parts.push(`{ ${named.join(', ')} }`);
    lines.push(`import ${parts.join(', ')} from ${quote(plan.importPath)};`);
  }
  if (plan.framework === 'vitest') lines.unshift(`import { ${functions} } from 'vitest';`);
  else if (plan.typescript) lines.unshift(`import { ${functions} } from '@jest/globals';`);
  return lines;
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
  for (const target of search.targets) {
    const cases = search.cases.get(target.name);
    const failed = (found) => found.outcome.result.kind === 'throws';
    for (const found of [...cases.filter((one) => !failed(one)), ...cases.filter(failed)]) {
      const made = testBody(found, search);
      if (made === null) continue;
      const label = withoutSubject(target.expression, search);
      const inner = made.lines.map((line) => `    ${line}`).join('\n');
      if (tests.some((test) => test.group === label && test.inner === inner)) continue;
      const isFree = (one) => one !== undefined && !titles.has(`${label} > ${one}`);
      // Titles that would be equal name the arguments of the calls too.
      let title = [made.title, made.longerTitle].find(isFree);
      for (let n = 2; title === undefined; n += 1) title = [`${made.longerTitle || made.title} (${n})`].find(isFree);
      titles.add(`${label} > ${title}`);
      tests.push({ group: label, title, inner, text: `  it(${quotedTitle(title)}, ${made.isAsync ? 'async ' : ''}() => {\n${inner}\n  });` });
      // Import names that arguments mention as well.
      const mentioned = `${target.expression} ${found.factory ? found.factory.expression : ''} ${found.args.join(' ')} ${found.steps.map((step) => step.args.join(' ')).join(' ')}`;
      used.push(...namesIn(mentioned));
    }
  }
  const header = `// Records how ${plan.shownPath} behaves${plan.commit ? ` as of commit ${plan.commit}` : ''}. A failure means that behaviour changed, not that the change is wrong.`;
  const reached = [...search.cases].filter(([, list]) => list.length > 0).map(([name]) => name);
  return {
    header: [header, ...imports(search, used)], tests, covers: reached, calls: search.calls,
    ...search.mutantResult, existing_tests: search.existingTests.length,
    dropped: [...search.dropped].map(([what, why]) => ({ what, why })),
  };
}

module.exports = { imports, namesIn, quotedTitle, render, shortened, snippetBody, testBody, withoutSubject };
