// The source of all randomness, so that a seed repeats a search.
'use strict';

function seededRandom(seed) {
  let state = (seed >>> 0) || 1;
  const next = () => {
    // xorshift32: small, and good enough for choosing inputs.
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  };
  const below = (n) => (n <= 0 ? 0 : next() % n);
  return {
    below,
    oneIn: (n) => below(n) === 0,
    pick: (list) => list[below(list.length)],
  };
}

module.exports = { seededRandom };
