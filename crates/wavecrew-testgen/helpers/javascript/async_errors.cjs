// Errors that come when nobody can catch them any more: from timers, and promises that nobody waits for. A framework takes
// them for failures of whatever runs by then.
'use strict';

const { again } = require('./run.cjs');

const WAIT_MS = 20;
const KINDS = ['uncaughtException', 'unhandledRejection'];

function pause() {
  return new Promise((resolve) => {
    setTimeout(resolve, WAIT_MS);
  });
}

// Leaves out what has such errors.
async function dropLate(search) {
  let seen = 0;
  const count = () => {
    seen += 1;
  };
  for (const kind of KINDS) process.on(kind, count);
  try {
    await pause();
    for (const [name, cases] of search.cases) {
      const before = seen;
      for (const call of cases) {
        search.trail(call);
        await again(call, search.evaluator);
      }
      if (cases.length > 0) await pause();
      if (seen > before) {
        search.cases.set(name, []);
        search.leave(name, 'fails later, where nobody can catch it');
      }
    }
  } finally {
    for (const kind of KINDS) process.off(kind, count);
  }
}

module.exports = { dropLate };
