// Splits a script into tokens, with just enough detail to find operands, so that no parser is needed. Mistakes show when the
// instrumented text is compiled.
'use strict';

const SIGNS = /(?:>>>=|\.\.\.|===|!==|\*\*=|<<=|>>=|>>>|&&=|\|\|=|\?\?=|=>|==|!=|<=|>=|&&|\|\||\?\?|\?\.(?!\d)|\+\+|--|\+=|-=|\*=|\/=|%=|&=|\|=|\^=|<<|>>|\*\*|[{}()[\];,<>+\-*/%&|^!~?:=.@#])/y;
const WORD = /[#A-Za-z_$\u0080-\uffff][\w$\u0080-\uffff]*/y;
const NUMBER = /(?:0[xX][\da-fA-F_]+n?|0[bB][01_]+n?|0[oO][0-7_]+n?|(?:\d[\d_]*)?\.?\d[\d_]*(?:[eE][+-]?\d+)?n?|\d+\.)/y;
const REGEX = /\/(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;

// Words that are not values.
const KEYWORDS = new Set(['return', 'throw', 'case', 'typeof', 'void', 'delete', 'new', 'await', 'yield', 'in', 'of', 'instanceof', 'else', 'do', 'if', 'while', 'for',
  'switch', 'try', 'finally', 'catch', 'with', 'function', 'class', 'extends', 'let', 'const', 'var', 'import', 'export', 'default', 'break', 'continue', 'static', 'async', 'from']);
const HEADS = new Set(['if', 'while', 'for', 'with', 'switch', 'catch']);
const CLOSERS = { ')': '(', ']': '[', '}': '{' };

function isHeadOf(tokens, open) {
  const at = open > 0 && tokens[open - 1].text === 'await' ? open - 2 : open - 1;
  return at >= 0 && tokens[at].kind === 'word' && HEADS.has(tokens[at].text) && !isMember(tokens, at);
}

function isMember(tokens, at) {
  return at > 0 && (tokens[at - 1].text === '.' || tokens[at - 1].text === '?.');
}

// Whether a value ends at a token, so that an operator can follow.
function endsValue(tokens, at) {
  const token = tokens[at];
  if (!token) return false;
  if (['number', 'string', 'template', 'regex'].includes(token.kind)) return true;
  if (token.kind === 'word') return !KEYWORDS.has(token.text) || isMember(tokens, at);
  if (token.text === ')') return !token.head;
  return token.text === ']' || token.text === '}' || token.postfix === true;
}

// The end of a template literal, including its substitutions.
function templateEnd(text, from) {
  let at = from + 1;
  while (at < text.length && text[at] !== '`') {
    if (text[at] === '\\') at += 2;
    else if (text[at] === '$' && text[at + 1] === '{') {
      let depth = 1;
      for (at += 2; at < text.length && depth > 0; at += 1) {
        if (text[at] === '{') depth += 1;
        else if (text[at] === '}') depth -= 1;
        else if (text[at] === '`') at = templateEnd(text, at) - 1;
        else if (text[at] === "'" || text[at] === '"') at = stringEnd(text, at) - 1;
      }
    } else at += 1;
  }
  return at + 1;
}

function stringEnd(text, from) {
  let at = from + 1;
  while (at < text.length && text[at] !== text[from] && text[at] !== '\n') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

// Where a pattern that matches at a position ends, or null.
function ending(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : null;
}

function tokenise(text) {
  const tokens = [];
  const opened = [];
  let at = 0;
  let line = false;
  while (at < text.length) {
    const char = text[at];
    if (/\s/.test(char)) {
      if (char === '\n') line = true;
      at += 1;
      continue;
    }
    if (char === '/' && (text[at + 1] === '/' || text[at + 1] === '*')) {
      const end = text[at + 1] === '/' ? text.indexOf('\n', at) : text.indexOf('*/', at + 2) + 2;
      at = end < at ? text.length : end;
      continue;
    }
    const token = { kind: 'sign', start: at, line };
    const last = tokens.length - 1;
    let end;
    if (char === "'" || char === '"') Object.assign(token, { kind: 'string', end: stringEnd(text, at) });
    else if (char === '`') Object.assign(token, { kind: 'template', end: templateEnd(text, at) });
    else if (char === '/' && !endsValue(tokens, last) && (end = ending(REGEX, text, at))) Object.assign(token, { kind: 'regex', end });
    else if (/[\d.]/.test(char) && /^\.?\d/.test(text.slice(at, at + 2)) && (end = ending(NUMBER, text, at))) Object.assign(token, { kind: 'number', end });
    else if ((end = ending(WORD, text, at))) Object.assign(token, { kind: 'word', end });
    else token.end = ending(SIGNS, text, at) || at + 1;
    token.text = text.slice(at, token.end);
    const index = tokens.length;
    if (token.kind === 'sign' && '([{'.includes(token.text)) opened.push(index);
    else if (token.kind === 'sign' && CLOSERS[token.text]) {
      const open = opened.pop();
      if (open !== undefined) {
        token.pair = open;
        tokens[open].pair = index;
        token.head = token.text === ')' && isHeadOf(tokens, open);
      }
    } else if (token.text === '++' || token.text === '--') token.postfix = endsValue(tokens, last) && !line;
    tokens.push(token);
    line = false;
    at = token.end;
  }
  return tokens;
}

// How frameworks wrap a module.
const WRAPPED = /^\s*(?:(['"])use strict\1;\s*)?(?:async\s*\(__v|\(\{"Object\.<anonymous>")/;

// The ranges of functions, with their parameters, in order, without the function that wraps the module.
function functions(tokens, text) {
  const found = [];
  tokens.forEach((token, at) => {
    let from = null;
    let to = null;
    if (token.text === '{' && token.pair !== undefined && at > 0) {
      const before = tokens[at - 1];
      if (before.text === ')' && !before.head && before.pair !== undefined) from = tokens[before.pair].start;
      else if (before.text === '=>') from = before.start;
      if (from !== null) to = tokens[token.pair].end;
    } else if (token.text === '=>' && tokens[at + 1] && tokens[at + 1].text !== '{') {
      from = token.start;
      to = tokens[expressionEnd(tokens, at + 1)].end;
    }
    if (from !== null) found.push([from, to]);
  });
  found.sort((a, b) => a[0] - b[0]);
  return WRAPPED.test(text) ? found.slice(1) : found;
}

const ASSIGNS = /^(?:[-+*/%&|^]|\*\*|<<|>>>?|&&|\|\||\?\?)?=$/;

// The last token of the expression that begins at a token. A comma ends it.
function expressionEnd(tokens, from) {
  let at = from;
  let choices = 0;
  for (; at < tokens.length; at += 1) {
    const token = tokens[at];
    if (token.text === '?') choices += 1;
    if (token.text === ':' && (choices -= 1) < 0) return at - 1;
    if (token.kind === 'sign' && '([{'.includes(token.text) && token.pair !== undefined) at = token.pair;
    else if (token.kind === 'sign' && (CLOSERS[token.text] || token.text === ';' || token.text === ',')) return at - 1;
    const next = tokens[at + 1];
    if (next && next.line && endsValue(tokens, at) && startsValue(next)) return at;
  }
  return at - 1;
}

// Whether a token at the start of a line begins a new statement.
function startsValue(token) {
  return ['word', 'number', 'string'].includes(token.kind) ? !['in', 'instanceof', 'of'].includes(token.text) : ['{', '}', '@'].includes(token.text);
}

module.exports = { ASSIGNS, CLOSERS, KEYWORDS, WRAPPED, endsValue, expressionEnd, functions, isMember, startsValue, tokenise };
