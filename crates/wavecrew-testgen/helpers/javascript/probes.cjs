// Observes what a call looks up: regular expressions it matches, strings it searches for, keys it reads. They become material
// for further inputs.
'use strict';

const MAX_KEYS = 40;
const MAX_LENGTH = 60;

const SEARCHES = ['startsWith', 'endsWith', 'includes', 'indexOf', 'lastIndexOf', 'split'];

// Runs `work` and returns what it looked up.
function observeLookups(work) {
  const seen = { regexes: new Set(), strings: new Set() };
  const undo = [];
  const replace = (owner, name, make) => {
    const before = owner[name];
    owner[name] = make(before);
    undo.push(() => {
      owner[name] = before;
    });
  };
  const addString = (value) => {
    if (typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH) seen.strings.add(value);
  };
  // Every match calls this method.
  replace(RegExp.prototype, 'exec', (before) => function exec(text) {
    if (this.source.length <= 1000) seen.regexes.add(this.source);
    return before.call(this, text);
  });
  for (const name of SEARCHES) {
    replace(String.prototype, name, (before) => function searched(...args) {
      addString(args[0]);
      return before.apply(this, args);
    });
  }
  for (const [owner, name] of [[Map.prototype, 'get'], [Map.prototype, 'has'], [Set.prototype, 'has']]) {
    replace(owner, name, (before) => function looked(key) {
      let left = MAX_KEYS;
      for (const known of this.keys()) {
        if ((left -= 1) < 0) break;
        addString(known);
      }
      return before.call(this, key);
    });
  }
  replace(Array.prototype, 'includes', (before) => function included(...args) {
    if (this.length <= MAX_KEYS) for (let at = 0; at < this.length; at += 1) addString(this[at]);
    return before.apply(this, args);
  });
  try {
    work();
  } finally {
    while (undo.length > 0) undo.pop()();
  }
  return { regexes: [...seen.regexes], strings: [...seen.strings] };
}

module.exports = { observeLookups };
