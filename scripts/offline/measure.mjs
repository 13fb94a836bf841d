// Measures generated tests independently of their generator: coverage by vitest, shuffled runs, other mutants.
//
//   measure.mjs ROOT SOURCE TEST prints one JSON object. ROOT is a copy that may be written to.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [root, source, test] = process.argv.slice(2).map((file) => path.resolve(file));
const { parse } = createRequire(path.join(root, 'package.json'))('acorn');
const MUTANTS = Number(process.env.SCOREBOARD_MUTANTS ?? 40);
const SHUFFLES = Number(process.env.SCOREBOARD_SHUFFLES ?? 20);
const SECONDS = 20;
const SIDE_BY_SIDE = 10;

const SWAPS = {
  '===': '!==', '!==': '===', '==': '!=', '!=': '==', '<': '<=', '<=': '<', '>': '>=', '>=': '>', '+': '-', '-': '+',
  '*': '/', '/': '*', '%': '*', '&&': '||', '||': '&&', '??': '&&', '+=': '-=', '-=': '+=', '&': '|', '|': '&', '<<': '>>', '>>': '<<',
};

function vitest(args, seconds) {
  const program = path.join(root, 'node_modules/.bin/vitest');
  const options = { cwd: root, stdio: 'ignore', timeout: seconds * 1000, killSignal: 'SIGKILL', env: { ...process.env, CI: '1' } };
  return spawnSync(program, ['run', '--pool=forks', ...args], options).status;
}

// Every mutation site in a function, with its replacement.
function sites(text) {
  const options = { ecmaVersion: 'latest', allowHashBang: true };
  let tree;
  try {
    tree = parse(text, { ...options, sourceType: 'module' });
  } catch {
    tree = parse(text, { ...options, sourceType: 'script' });
  }
  const found = [];
  const put = (from, to, by) => found.push({ from, to, by });
  const walk = (node, inside) => {
    if (!node || typeof node.type !== 'string') return;
    if (inside) {
      const part = (one) => text.slice(one.start, one.end);
      if (['BinaryExpression', 'LogicalExpression', 'AssignmentExpression'].includes(node.type) && SWAPS[node.operator]) {
        const at = text.indexOf(node.operator, node.left.end);
        put(at, at + node.operator.length, SWAPS[node.operator]);
      }
      if (node.type === 'Literal') {
        if (typeof node.value === 'number') put(node.start, node.end, `(${part(node)} + 1)`);
        else if (typeof node.value === 'string') put(node.start, node.end, JSON.stringify(`${node.value}?`));
        else if (typeof node.value === 'boolean') put(node.start, node.end, String(!node.value));
      }
      if (node.type === 'ReturnStatement' && node.argument) put(node.argument.start, node.argument.end, 'undefined');
      if (['IfStatement', 'WhileStatement', 'ConditionalExpression'].includes(node.type)) put(node.test.start, node.test.end, `!(${part(node.test)})`);
      if (node.type === 'UnaryExpression' && node.operator === '!') put(node.start, node.end, `(${part(node.argument)})`);
      if (node.type === 'ExpressionStatement' && node.expression.type === 'CallExpression') put(node.start, node.end, ';');
    }
    const within = inside || /Function|MethodDefinition/.test(node.type);
    for (const [key, value] of Object.entries(node)) {
      // Keys and directives are names, not values.
      if (key === 'key' && !node.computed) continue;
      if (node.type === 'ExpressionStatement' && node.directive) continue;
      for (const child of Array.isArray(value) ? value : [value]) if (child && typeof child === 'object') walk(child, within);
    }
  };
  walk(tree, false);
  return found;
}

function shuffled(list) {
  let state = 7;
  const copy = [...list];
  for (let at = copy.length - 1; at > 0; at -= 1) {
    state = (state * 48271) % 2147483647;
    const other = state % (at + 1);
    [copy[at], copy[other]] = [copy[other], copy[at]];
  }
  return copy;
}

function covered() {
  const shown = path.relative(root, source);
  const folder = path.join(root, 'coverage-of-tests');
  vitest([test, '--coverage.enabled', '--coverage.provider=v8', `--coverage.include=${shown}`, '--coverage.reporter=json-summary',
    `--coverage.reportsDirectory=${folder}`, '--coverage.reporter=json'], 120);
  const total = JSON.parse(fs.readFileSync(path.join(folder, 'coverage-summary.json'), 'utf8')).total;
  const details = Object.values(JSON.parse(fs.readFileSync(path.join(folder, 'coverage-final.json'), 'utf8')))[0];
  const missing = details ? Object.entries(details.s).filter(([, n]) => n === 0).map(([id]) => details.statementMap[id].start.line) : [];
  return { line: total.lines.pct, branch: total.branches.total ? total.branches.pct : 100, missing: [...new Set(missing)] };
}

// Whether the tests kill each of some mutants. Several copies of the project share one start of vitest.
function noticed(text, changes) {
  const top = path.relative(root, source).split(path.sep)[0];
  const tests = path.relative(root, test);
  const folders = changes.map((change, index) => {
    const folder = path.join(root, `mutant-${index}`);
    fs.cpSync(path.join(root, top), path.join(folder, top), { recursive: true });
    fs.mkdirSync(path.dirname(path.join(folder, tests)), { recursive: true });
    fs.copyFileSync(test, path.join(folder, tests));
    fs.copyFileSync(path.join(root, 'package.json'), path.join(folder, 'package.json'));
    fs.writeFileSync(path.join(folder, path.relative(root, source)), text.slice(0, change.from) + change.by + text.slice(change.to));
    return folder;
  });
  const report = path.join(root, 'mutants.json');
  fs.rmSync(report, { force: true });
  const files = folders.map((folder) => path.join(folder, tests));
  vitest([...files, '--reporter=json', `--outputFile=${report}`], SECONDS * 2);
  let killed;
  if (fs.existsSync(report)) {
    const passed = new Set(JSON.parse(fs.readFileSync(report, 'utf8')).testResults.filter((file) => file.status === 'passed').map((file) => file.name));
    killed = files.map((file) => !passed.has(file));
  } else {
    // One of them does not end: run each alone.
    killed = files.map((file) => vitest([file], SECONDS) !== 0);
  }
  folders.forEach((folder) => fs.rmSync(folder, { recursive: true }));
  return killed;
}

const text = fs.readFileSync(source, 'utf8');
const result = covered();
let passes = 0;
for (let seed = 1; seed <= SHUFFLES; seed += 1) {
  if (vitest([test, '--sequence.shuffle.tests', `--sequence.seed=${seed}`], 120) === 0) passes += 1;
}
const chosen = shuffled(sites(text)).slice(0, MUTANTS);
const survivors = [];
for (let at = 0; at < chosen.length; at += SIDE_BY_SIDE) {
  const some = chosen.slice(at, at + SIDE_BY_SIDE);
  noticed(text, some).forEach((killed, index) => {
    if (!killed) survivors.push([text.slice(0, some[index].from).split('\n').length, `${text.slice(some[index].from, some[index].to)} to ${some[index].by}`]);
  });
}
const kills = chosen.length > 0 ? 100 * (1 - survivors.length / chosen.length) : 100;
console.log(JSON.stringify({ ...result, kills, mutants: chosen.length, survivors, passes, shuffles: SHUFFLES }));
