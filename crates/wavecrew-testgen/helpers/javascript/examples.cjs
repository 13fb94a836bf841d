// Calls that people wrote: in comments of the module, in the README and in tests. They are tried first, and results that a
// comment states are compared.
'use strict';

const vm = require('node:vm');

const MAX_FOUND = 200;

// The position of the bracket that closes the one at `open`, or -1.
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

// Wall time: on a busy machine even a new context may take tens of milliseconds.
const EXAMPLE_MS = 2000;

// Whether an expression can be evaluated alone, without names from its context.
function isSelfContained(source) {
  try {
    new vm.Script(`[${source}]`).runInNewContext(Object.create(null), { timeout: EXAMPLE_MS });
    return true;
  } catch {
    return false;
  }
}

// The result that a comment after a call states, as source text, or null.
function statedResult(rest) {
  // After an arrow, or as a comment that is only a value.
  const said = rest.match(/^[\s;)]*?(?:\/\/|\/\*)?[ \t]*(?:=>|->|→|returns:?)\s*([^\n]*)/) || rest.match(/^\)*;?[ \t]*\/\/[ \t]*([^\n]+)/);
  if (!said) return null;
  const source = said[1].replace(/\*\/\s*$/, '').replace(/[;.]?\s*$/, '').trim();
  return source !== '' && !/=>/.test(source) && isSelfContained(source) ? source : null;
}

// All calls of some names in a text, with arguments and stated results as source text.
function callsIn(text, names) {
  const found = [];
  const seen = new Set();
  for (const name of names) {
    const escaped = name.replace(/[$.]/g, '\\$&');
    for (const match of text.matchAll(new RegExp(`(?<![\\w$.])(?:[a-zA-Z_$][\\w$]*\\.)?${escaped}\\(`, 'g'))) {
      const open = match.index + match[0].length - 1;
      const close = closing(text, open);
      if (close < 0 || found.length >= MAX_FOUND) continue;
      const inner = text.slice(open + 1, close).replace(/\n\s*\*\s?/g, '\n').trim();
      const made = /new\s*$/.test(text.slice(0, match.index));
      const key = `${made} ${inner}`;
      if (seen.has(key) || !isSelfContained(inner)) continue;
      seen.add(key);
      found.push({ args: split(inner), stated: statedResult(text.slice(close + 1)), made });
    }
  }
  return found;
}

// Quoted strings, and words of comments and prose that look like values.
function quotedWords(text) {
  const found = new Set();
  for (const match of text.matchAll(/'([^'\\\n]{1,40})'|"([^"\\\n]{1,40})"|`([^`$\n]{1,40})`/g)) {
    if (found.size >= MAX_FOUND) break;
    found.add(match[1] || match[2] || match[3]);
  }
  for (const [, line] of text.matchAll(/(?:^|\s)(?:\/\/|\*|[-+*] )(?!\/)([^\n]*)/g)) {
    for (const word of line.split(/[\s,;`'"()]+/)) {
      if (found.size >= MAX_FOUND) break;
      if (word.length <= 24 && /[\d]/.test(word) && /[^\w]/.test(word) && !/[{}]/.test(word)) found.add(word.replace(/[.:]+$/, ''));
    }
  }
  // What lies between the quotes of two strings is code.
  return [...found].filter((word) => !/[;{}]|\breturn\b/.test(word));
}

// Words with which documentation promises that one function undoes another.
const PROMISE = /\b(invers|revers|undo|opposite|counterpart|round.?trip|restor|invert|back (in)?to|recover)/i;

// Comments of a module, each with the line after it, and paragraphs of other texts, as far as they promise something.
function promisesIn(text, isModule) {
  const blocks = isModule ? text.match(/(\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/[^\n]*\n)+)\s*[^\n]*/gm) || [] : text.split(/\n\s*\n/);
  return blocks.filter((block) => block.length < 4000 && PROMISE.test(block));
}

// Adds examples and stated results to targets. The first text is the module itself.
function collectExamples(found, texts) {
  const promises = texts.flatMap((text, index) => promisesIn(text, index === 0));
  for (const target of found) {
    target.promised = promises.filter((block) => mentions(block, target));
    for (const [index, text] of texts.entries()) {
      for (const { args, stated, made } of callsIn(text, target.aliases)) {
        if (made === (target.kind === 'class')) {
          target.examples.push(args);
          // Only comments of the module itself state results for this version.
          if (stated !== null && !made && index === 0) target.statedResults.push({ args, stated });
        }
      }
      for (const step of target.kind === 'class' ? target.steps : []) {
        if (step.how === 'call') step.examples = (step.examples || []).concat(callsIn(text, [step.name]).map(({ args }) => args)).slice(0, 20);
      }
    }
  }
}

function mentions(text, target) {
  return target.aliases.some((alias) => new RegExp(`(^|[^\\w$])${alias.replace(/\$/g, '\\$')}(?![\\w$])`).test(text));
}

module.exports = { callsIn, collectExamples, quotedWords };
