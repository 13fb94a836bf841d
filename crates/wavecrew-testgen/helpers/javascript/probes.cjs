// Sees what a call compares its input with: regular expressions that are tried on it, words that it is searched for, keys
// that are looked up. They become material for further inputs.
'use strict';

const MOST_KEYS = 40;
const MOST_TEXT = 60;

const SEARCHES = ['startsWith', 'endsWith', 'includes', 'indexOf', 'lastIndexOf', 'split'];

// Runs `work` and answers what was seen.
function watch(work) {
  const seen = { regexes: new Set(), strings: new Set() };
  const undo = [];
  const replace = (owner, name, make) => {
    const before = owner[name];
    owner[name] = make(before);
    undo.push(() => {
      owner[name] = before;
    });
  };
  const word = (value) => {
    if (typeof value === 'string' && value !== '' && value.length <= MOST_TEXT) seen.strings.add(value);
  };
  // All that matches goes through this one.
  replace(RegExp.prototype, 'exec', (before) => function exec(text) {
    if (this.source.length <= 1000) seen.regexes.add(this.source);
    return before.call(this, text);
  });
  for (const name of SEARCHES) {
    replace(String.prototype, name, (before) => function searched(...args) {
      word(args[0]);
      return before.apply(this, args);
    });
  }
  for (const [owner, name] of [[Map.prototype, 'get'], [Map.prototype, 'has'], [Set.prototype, 'has']]) {
    replace(owner, name, (before) => function looked(key) {
      let left = MOST_KEYS;
      for (const known of this.keys()) {
        if ((left -= 1) < 0) break;
        word(known);
      }
      return before.call(this, key);
    });
  }
  replace(Array.prototype, 'includes', (before) => function included(...args) {
    if (this.length <= MOST_KEYS) for (let at = 0; at < this.length; at += 1) word(this[at]);
    return before.apply(this, args);
  });
  try {
    work();
  } finally {
    while (undo.length > 0) undo.pop()();
  }
  return { regexes: [...seen.regexes], strings: [...seen.strings] };
}

module.exports = { watch };
