// Suspected defects as failing tests, for a file that frameworks do not collect.
'use strict';

const { callText } = require('./cases.cjs');
const { imports, namesIn, quotedTitle, shortened, withoutSubject } = require('./render.cjs');

// Suspected defects that no earlier round reported, each with a test that fails until it is fixed.
function quarantine(search) {
  const { plan } = search;
  // Large numbers may legitimately need much time or memory.
  const excluded = plan.exclusions.suspects.filter(({ text }) => !/\d{5}/.test(text)).map((defect) => ({ ...defect, ...search.avoided.get(defect.target), name: defect.target }));
  const found = search.defects.map((defect) => ({ ...defect, name: defect.target.name, text: search.label(defect.call), at: lineOfCall(defect.call), used: `${callText(defect.call)} ${defect.check || ''}` }));
  const all = [...excluded, ...found].filter(({ name, kind }) => !plan.suspected.some((line) => line.startsWith(`// ${name}: ${kind}:`)));
  const header = [`// Suspected defects in ${plan.shownPath}. The generator does not know the intended behaviour: review each one.`];
  if (all.some(isEndless)) header.push(plan.style === 'require' && plan.framework === 'jest' ? "const { runInNewContext } = require('node:vm');" : "import { runInNewContext } from 'node:vm';");
  header.push(...imports(search, namesIn(all.map((defect) => defect.used).join(' ')), 'expect, it'));
  return { quarantine_header: header, defects: all.map((defect) => defectTest(defect, search)) };
}

function isEndless({ kind }) {
  return kind === 'does not end' || kind === 'runs out of memory';
}

function lineOfCall({ target, steps }) {
  const last = steps[steps.length - 1];
  const kind = last && target.steps.find((one) => one.name === last.name && one.how === last.how);
  return (kind && kind.line) || target.line || 0;
}

function defectTest(defect, search) {
  const { kind, what, expected, check, at } = defect;
  const { text } = defect;
  const attempt = text.startsWith('made = ') ? `() => { const ${text}; }` : `() => ${text}`;
  let line = `expect(${attempt}).not.toThrow();`;
  if (isEndless(defect)) line = `expect(() => runInNewContext('attempt()', { attempt: ${attempt} }, { timeout: 1000 })).not.toThrow();`;
  else if (expected) line = `expect(${defect.async ? 'await ' : ''}${withoutSubject(check || text, search)}).toEqual(${expected});`;
  else if (defect.async) line = `expect(await (async ${attempt})().then(() => 'settled')).toBe('settled');`;
  const note = `// ${defect.name}: ${kind}: ${what.replace(/\s+/g, ' ')}`;
  return { kind, call: text, what, line: at, test: `${note}\nit(${quotedTitle(shortened(`${text}: ${kind}`))}, ${defect.async ? 'async ' : ''}() => {\n  ${line}\n});` };
}

module.exports = { quarantine };
