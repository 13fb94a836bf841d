// Whether a call has the same outcome with another clock and other random numbers. If not, a test cannot assert it. Time zones
// change when the written tests run.
'use strict';

const DAYS = 40 * 86400000;
const SECONDS = 7000;

async function isStable(run, expected) {
  const { random } = Math;
  const RealDate = Date;
  let reads = 0;
  const later = () => {
    reads += 1;
    return RealDate.now() + DAYS + reads * SECONDS;
  };
  class Later extends RealDate {
    constructor(...args) {
      super(...(args.length > 0 ? args : [later()]));
    }

    static now() {
      return later();
    }
  }
  try {
    Math.random = () => 0.123456;
    globalThis.Date = Later;
    if (JSON.stringify(await run()) !== expected) return false;
  } finally {
    Math.random = random;
    globalThis.Date = RealDate;
  }
  return JSON.stringify(await run()) === expected;
}

module.exports = { isStable };
