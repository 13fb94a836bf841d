// Errors after a call has returned: from timers, and from promises that nobody awaits. A framework attributes them to whatever
// test runs by then.
'use strict';

const { rerun } = require('./run.cjs');

const WAIT_MS = 20;
const KINDS = ['uncaughtException', 'unhandledRejection'];

function pause() {
  return new Promise((resolve) => {
    setTimeout(resolve, WAIT_MS);
  });
}

// Drops the cases of targets with such errors.
async function dropAsyncErrors(search) {
  let errors = 0;
  const count = () => {
    errors += 1;
  };
  for (const kind of KINDS) process.on(kind, count);
  try {
    await pause();
    for (const [name, cases] of search.cases) {
      const before = errors;
      for (const call of cases) {
        search.recordCall(call);
        await rerun(call, search.evaluator);
      }
      if (cases.length > 0) await pause();
      if (errors > before) {
        search.cases.set(name, []);
        search.drop(name, 'throws after it has returned, where a test cannot catch it');
      }
    }
  } finally {
    for (const kind of KINDS) process.off(kind, count);
  }
}

module.exports = { dropAsyncErrors };
