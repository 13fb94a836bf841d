// Calls that people wrote down: in comments of the module, in the project's README and in its tests. They are tried first,
// and where they say what comes back, that is compared.
'use strict';

const vm = require('node:vm');

const MOST = 200;

// Where the bracket at `open` is closed, strings left aside; -1 where it is not.
function closing(text, open) {
  let depth = 0;
  let quote = null;
  for (let at = open; at < text.length && at < open + 2000; at += 1) {
    const char = text[at];
    if (quote) {
      if (char === '\\') at += 1;
      else if (char === quote) quote = null;
      else if (char === '\n' && quote !== '`') return -1;
    } else if (char === '"' || char === "'" || char === '`') quote = char;
    else if ('([{'.includes(char)) depth += 1;
    else if (')]}'.includes(char)) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return -1;
}

// The parts between top-level commas.
function split(text) {
  const parts = [];
  let from = 0;
  let quote = null;
  let depth = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const char = text[at];
    if (quote) {
      if (char === '\\') at += 1;
      else if (char === quote) quote = null;
    } else if (char === '"' || char === "'" || char === '`') quote = char;
    else if ('([{'.includes(char) && char) depth += 1;
    else if (')]}'.includes(char) && char) depth -= 1;
    if (at === text.length || (char === ',' && depth === 0 && !quote)) {
      const part = text.slice(from, at).trim();
      if (part) parts.push(part);
      from = at + 1;
    }
  }
  return parts;
}

// Whether an expression stands for itself: it names nothing that only its surroundings know.
function alone(source) {
  try {
    new vm.Script(`[${source}]`).runInNewContext(Object.create(null), { timeout: 50 });
    return true;
  } catch {
    return false;
  }
}

// What a comment behind a call says that comes back, as source; null where it says nothing that can be read.
function claimed(rest) {
  // With an arrow, or as a comment that is nothing but a value.
  const said = rest.match(/^[\s;)]*?(?:\/\/|\/\*)?[ \t]*(?:=>|->|→|returns:?)\s*([^\n]*)/) || rest.match(/^\)*;?[ \t]*\/\/[ \t]*([^\n]+)/);
  if (!said) return null;
  const source = said[1].replace(/\*\/\s*$/, '').replace(/[;.]?\s*$/, '').trim();
  return source !== '' && !/=>/.test(source) && alone(source) ? source : null;
}

// All calls of some names in a text: arguments as sources, and what is said of the result.
function calls(text, names) {
  const found = [];
  const seen = new Set();
  for (const name of names) {
    const escaped = name.replace(/[$.]/g, '\\$&');
    for (const match of text.matchAll(new RegExp(`(?<![\\w$.])(?:[a-zA-Z_$][\\w$]*\\.)?${escaped}\\(`, 'g'))) {
      const open = match.index + match[0].length - 1;
      const close = closing(text, open);
      if (close < 0 || found.length >= MOST) continue;
      const inner = text.slice(open + 1, close).replace(/\n\s*\*\s?/g, '\n').trim();
      const made = /new\s*$/.test(text.slice(0, match.index));
      const key = `${made} ${inner}`;
      if (seen.has(key) || !alone(inner)) continue;
      seen.add(key);
      found.push({ args: split(inner), claim: claimed(text.slice(close + 1)), made });
    }
  }
  return found;
}

// Texts in quotes, and what comments and prose show as it is written.
function words(text) {
  const found = new Set();
  for (const match of text.matchAll(/'([^'\\\n]{1,40})'|"([^"\\\n]{1,40})"|`([^`$\n]{1,40})`/g)) {
    if (found.size >= MOST) break;
    found.add(match[1] || match[2] || match[3]);
  }
  for (const [, line] of text.matchAll(/(?:^|\s)(?:\/\/|\*|[-+*] )(?!\/)([^\n]*)/g)) {
    for (const word of line.split(/[\s,;`'"()]+/)) {
      if (found.size >= MOST) break;
      if (word.length <= 24 && /[\d]/.test(word) && /[^\w]/.test(word) && !/[{}]/.test(word)) found.add(word.replace(/[.:]+$/, ''));
    }
  }
  // Between the quotes of two texts stands code.
  return [...found].filter((word) => !/[;{}]|\breturn\b/.test(word));
}

// What the texts about a module say of its targets; the first text is the module itself.
function gather(found, texts) {
  for (const target of found) {
    for (const [index, text] of texts.entries()) {
      for (const { args, claim, made } of calls(text, target.aliases)) {
        if (made === (target.kind === 'class')) {
          target.examples.push(args);
          // What its own comments say is meant for it as it is.
          if (claim !== null && !made && index === 0) target.claims.push({ args, claim });
        }
      }
      for (const step of target.kind === 'class' ? target.steps : []) {
        if (step.how === 'call') step.examples = (step.examples || []).concat(calls(text, [step.name]).map(({ args }) => args)).slice(0, 20);
      }
    }
  }
}

module.exports = { calls, gather, words };
