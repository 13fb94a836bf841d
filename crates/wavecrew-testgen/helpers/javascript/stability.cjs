// Whether a call comes out the same with another clock, which jumps, and other lots: what differs cannot be asserted. Time
// zones are changed by those who run the tests afterwards.
'use strict';

const DAYS = 40 * 86400000;
const SECONDS = 7000;

async function stable(run, expected) {
  const { random } = Math;
  const RealDate = Date;
  let looks = 0;
  const later = () => {
    looks += 1;
    return RealDate.now() + DAYS + looks * SECONDS;
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

module.exports = { stable };
