// One search of a module, inside the project's own test framework, so that modules load as they do in its tests.
'use strict';

const fs = require('node:fs');
const { passedInVitest, recordTests } = require('./existing_tests.cjs');
const { watchBuiltins } = require('./process_state.cjs');
const { blockProcessAccess } = require('./sandbox.cjs');
const { Search } = require('./search.cjs');

// What tests call the module: the name of its main function, unless another export has that name.
function moduleIdentifier(subject, plan) {
  const main = typeof subject === 'function' ? subject : subject.default;
  const name = typeof main === 'function' ? main.name : '';
  const free = /^[A-Za-z_$][\w$]*$/.test(name) && !name.startsWith('__vite') && name !== 'default' && name !== 'exports' && !Object.hasOwn(subject, name);
  return free ? name : plan.identifier;
}

// Call this before any code of the project is loaded.
function enterSandbox() {
  return { leave: blockProcessAccess(), restoreBuiltins: watchBuiltins() };
}

// Loads a module, searches it and writes the result to the file that the plan names. `tests` are existing tests.
async function runSession(load, request, { leave, restoreBuiltins }, tests) {
  try {
    const subject = await load();
    const changed = restoreBuiltins();
    const plan = { texts: [], ...request, identifier: moduleIdentifier(subject, request), traceHandle: fs.openSync(request.traceFile, 'w') };
    const search = new Search(subject, plan, restoreBuiltins);
    if (changed !== null) search.drop(plan.file, `changes ${changed} when it is loaded`);
    const result = await search.run(tests);
    fs.writeFileSync(plan.out, JSON.stringify(result));
  } finally {
    leave();
  }
}

module.exports = { enterSandbox, passedInVitest, recordTests, runSession };
