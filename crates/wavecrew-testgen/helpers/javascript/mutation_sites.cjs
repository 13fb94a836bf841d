// Sites of a script where a mutant is possible: operators, constants, conditions, returned values, calls. Each becomes a call
// that does the same while its mutant is inactive, so that one text holds all mutants. Each replacement begins with a name: a
// bracket at the start of a line would continue the line before it.
'use strict';

const { editableSites, liveFunctions, isFrameworkCode } = require('./live_edit.cjs');
const { ASSIGNS, CLOSERS, KEYWORDS, endsValue, expressionEnd, functions, isMember, startsValue, tokenise } = require('./tokens.cjs');

// Short, because the text contains many of it.
const NAME = '$_f';
const LOGIC = { '&&': 'c', '||': 'd', '??': 'e' };
const PRECEDENCE = {
  '??': 1, '||': 2, '&&': 3, '|': 4, '^': 5, '&': 6, '==': 7, '!=': 7, '===': 7, '!==': 7,
  '<': 8, '>': 8, '<=': 8, '>=': 8, in: 8, instanceof: 8, '<<': 9, '>>': 9, '>>>': 9, '+': 10, '-': 10, '*': 11, '/': 11, '%': 11, '**': 12,
};
const COUNTED = new Set(['==', '!=', '===', '!==', '<', '>', '<=', '>=', '+', '-', '*', '/', '%', '&', '|', '<<', '>>']);
const UNARY = new Set(['!', '~', '+', '-', 'typeof', 'void', 'delete', 'await', 'new', '++', '--']);

class SiteFinder {
  constructor(text) {
    this.text = text;
    this.tokens = tokenise(text);
    this.found = [];
    this.bodies = functions(this.tokens, text);
    const { bodies } = this;
    const around = [];
    let next = 0;
    this.tokens.forEach((token, at) => {
      for (; next < bodies.length && bodies[next][0] <= token.start; next += 1) around.push(bodies[next]);
      while (around.length > 0 && around[around.length - 1][1] < token.end) around.pop();
      if (around.length === 0) return;
      // The function that contains it.
      [this.body] = around[around.length - 1];
      this.at(token, at);
      this.mark(token, at);
    });
  }

  // `from` and `to` are token indices. An operator in the middle is replaced when given.
  add(what, from, to, open, close, middle = null) {
    this.found.push({ what, body: this.body, from: this.tokens[from].start, to: this.tokens[to].end, at: this.tokens[middle ? middle.at : from].start, open, close, middle: middle && { start: this.tokens[middle.at].start, end: this.tokens[middle.at].end, by: middle.by } });
  }

  at(token, at) {
    if (token.kind === 'number' || token.kind === 'string' || token.text === 'true' || token.text === 'false') this.constant(token, at);
    else if (token.kind === 'word' && !isMember(this.tokens, at)) this.word(token, at);
    else if (token.kind === 'sign') this.sign(token, at);
    if ((token.kind === 'word' && (!KEYWORDS.has(token.text) || token.text === 'await'))) this.statement(at);
  }

  constant(token, at) {
    const [before, after] = [this.tokens[at - 1], this.tokens[at + 1]];
    if (!after || !before || isMember(this.tokens, at)) return;
    const key = after.text === ':' && (before.text === '{' || before.text === ',');
    if (key || after.text === '(' || after.text === '=>' || ['from', 'import', 'static', 'get', 'set'].includes(before.text)) return;
    if (after.text === '=' && token.kind !== 'word') return;
    if (token.kind === 'string' && (/^.use /.test(token.text) || (['{', ';', '}'].includes(before.text) && after.text === ';'))) return;
    if (token.kind === 'number' && (after.text === '.' || token.text.endsWith('n'))) return;
    let other = token.text === 'true' ? 'false' : 'true';
    if (token.kind === 'number') other = `${token.text} + 1`;
    else if (token.kind === 'string') other = `${token.text.slice(0, -1)}?${token.text[0]}`;
    this.add(`${token.text} to ${other}`, at, at, (id) => `${NAME}.v(${id},`, `,${other})`);
  }

  word(token, at) {
    const next = this.tokens[at + 1];
    if (!next) return;
    if ((token.text === 'if' || token.text === 'while') && next.text === '(' && next.pair > at + 2) {
      this.add('condition negated', at + 2, next.pair - 1, (id) => `${NAME}.q(${id},(`, '))');
    } else if (token.text === 'return' && !next.line && next.text !== ';' && next.text !== '}') {
      this.add('returns undefined', at + 1, expressionEnd(this.tokens, at + 1), (id) => `${NAME}.r(${id},(`, '))');
    }
  }

  sign(token, at) {
    const { tokens } = this;
    if (token.text === '!' && !endsValue(tokens, at - 1)) {
      const end = this.unitEnd(at);
      if (end !== null) this.add('! removed', at, end, (id) => `${NAME}.q(${id},(`, '))');
      return;
    }
    if (token.text === '=>' && tokens[at + 1] && tokens[at + 1].text !== '{') {
      this.add('returns undefined', at + 1, expressionEnd(tokens, at + 1), (id) => `${NAME}.r(${id},(`, '))');
      return;
    }
    if (ASSIGNS.test(token.text)) {
      if (['+=', '-=', '*=', '/='].includes(token.text)) this.add(`${token.text} replaced by its opposite`, at + 1, expressionEnd(tokens, at + 1), (id) => `${NAME}.m(${id},'${token.text}',(`, '))');
      return;
    }
    if (!endsValue(tokens, at - 1)) return;
    if (token.text === '?') {
      const start = this.leftStart(at, 0);
      if (start !== null) this.add('condition negated', start, at - 1, (id) => `${NAME}.q(${id},(`, '))');
      return;
    }
    const logic = LOGIC[token.text];
    if (!logic && !COUNTED.has(token.text)) return;
    const start = this.leftStart(at, PRECEDENCE[token.text]);
    const end = this.rightEnd(at, PRECEDENCE[token.text]);
    if (start === null || end === null) return;
    if (logic) this.add(`${token.text} replaced`, start, end, (id) => `${NAME}.i(${NAME}.${logic}(${id},(`, `):${NAME}.t)`, { at, by: '))?(' });
    else this.add(`${token.text} replaced`, start, end, (id) => `${NAME}.b(${id},'${token.text}',(`, '))', { at, by: '),(' });
  }

  // The beginning of a block or a case is a site without a mutant: it only records that it was reached.
  mark(token, at) {
    const { tokens } = this;
    const before = tokens[at - 1];
    let end = null;
    if (token.text === '{' && token.pair !== undefined && before) {
      const head = before.text === ')' && before.pair > 0 ? tokens[before.pair - 1].text : '';
      const opens = (before.text === ')' && head !== 'switch') || ['=>', 'else', 'do', 'try', 'finally', 'catch'].includes(before.text);
      if (opens && tokens[at + 1].kind !== 'string') end = at;
    } else if ((token.text === 'case' || token.text === 'default') && before && !['{', ','].includes(before.text) && !isMember(tokens, at)) end = this.caseEnd(at);
    else if (token.text === 'case' && before && before.text === '{') end = this.caseEnd(at);
    if (end !== null) this.found.push({ what: null, body: this.body, from: tokens[end].end, to: tokens[end].end, at: tokens[end].start });
  }

  caseEnd(from) {
    const { tokens } = this;
    let choices = 0;
    for (let at = from + 1; at < tokens.length && at < from + 60; at += 1) {
      const { text, pair } = tokens[at];
      if ('([{'.includes(text) && pair !== undefined) at = pair;
      else if (text === '?') choices += 1;
      else if (text === ':' && (choices -= 1) < 0) return at;
      else if (text === ';' || text === '}') return null;
    }
    return null;
  }

  // A call that is a statement.
  statement(at) {
    const { tokens } = this;
    const before = tokens[at - 1];
    if (!before || !(['{', '}', ';'].includes(before.text) || before.head === true || (tokens[at].line && endsValue(tokens, at - 1)))) return;
    if (tokens[at].text === 'super') return;
    const end = this.unitEnd(at - 1);
    if (end === null || tokens[end].text !== ')') return;
    const next = tokens[end + 1];
    if (next && (next.text === ';' || next.text === '}' || (next.line && startsValue(next)))) this.add('call removed', at, end, (id) => `${NAME}.a(${id})||`, '');
  }

  // The first token of the left operand.
  leftStart(operator, strength) {
    const { tokens } = this;
    let at = operator - 1;
    for (;;) {
      at = this.unitStart(at);
      if (at === null) return null;
      const before = tokens[at - 1];
      const known = before && (before.kind === 'sign' || before.text === 'in' || before.text === 'instanceof') ? PRECEDENCE[before.text] : undefined;
      if (known === undefined || known < strength || !endsValue(tokens, at - 2)) return at;
      at -= 2;
    }
  }

  // The first token of the value that ends at a token, including prefix operators.
  unitStart(end) {
    const { tokens } = this;
    let at = end;
    if (!endsValue(tokens, at)) return null;
    for (;;) {
      const token = tokens[at];
      if (token.postfix) {
        at -= 1;
        continue;
      }
      if (token.kind === 'sign' && CLOSERS[token.text]) {
        if (token.pair === undefined || token.head) return null;
        const open = token.pair;
        const before = tokens[open - 1];
        if (token.text === '}') {
          if (before && (before.text === ')' || before.text === '=>' || before.kind === 'word')) return null;
          at = open;
        } else if (before && before.text === '?.') {
          at = open - 2;
          continue;
        } else if (endsValue(tokens, open - 1) && !(tokens[open].line && token.text === ')' && before.text === '}')) {
          at = open - 1;
          continue;
        } else if (before && before.text === 'function') return null;
        else at = open;
      } else if (isMember(tokens, at)) {
        at -= 2;
        continue;
      } else if (token.kind === 'template' && endsValue(tokens, at - 1) && !token.line) {
        at -= 1;
        continue;
      }
      break;
    }
    while (at > 0 && UNARY.has(tokens[at - 1].text) && !(endsValue(tokens, at - 2) && tokens[at - 1].kind === 'sign') && !tokens[at - 1].postfix) at -= 1;
    return at;
  }

  // The last token of the right operand.
  rightEnd(operator, strength) {
    const { tokens } = this;
    let at = this.unitEnd(operator);
    while (at !== null) {
      const next = tokens[at + 1];
      const known = next && (next.kind === 'sign' || next.text === 'in' || next.text === 'instanceof') ? PRECEDENCE[next.text] : undefined;
      if (known === undefined || known <= strength) return at;
      at = this.unitEnd(at + 1);
    }
    return null;
  }

  // The last token of the value that begins after a token.
  unitEnd(before) {
    const { tokens } = this;
    let at = before + 1;
    while (tokens[at] && UNARY.has(tokens[at].text)) at += 1;
    const first = tokens[at];
    if (!first) return null;
    if (first.kind === 'word' && KEYWORDS.has(first.text)) return null;
    if (first.kind === 'sign') {
      if (!'([{'.includes(first.text) || first.pair === undefined) return null;
      at = first.pair;
    }
    for (;;) {
      const next = tokens[at + 1];
      if (!next) return at;
      if (next.text === '=>') return null;
      if (next.text === '.' || next.text === '?.') {
        const opens = tokens[at + 2] && '(['.includes(tokens[at + 2].text);
        if (opens && next.text === '?.') at = tokens[at + 2].pair;
        else at += 2;
      } else if ((next.text === '(' || next.text === '[') && next.pair !== undefined) at = next.pair;
      else if (next.kind === 'template' && !next.line) at += 1;
      else if (next.postfix) at += 1;
      else return at;
    }
  }
}

// The text with some sites instrumented.
function instrumented(text, sites) {
  const edits = [];
  sites.forEach((site, at) => {
    if (site.what === null) {
      edits.push({ at: site.from, to: site.from, by: `${NAME}.a(${site.id});`, rank: [1, 1, at] });
      return;
    }
    // Of two sites with the same span, one with an operator in its middle is the inner one.
    const order = at + (site.middle ? sites.length : 0);
    edits.push({ at: site.from, to: site.from, by: site.open(site.id), rank: [2, -site.to, order] });
    if (site.middle) edits.push({ at: site.middle.start, to: site.middle.end, by: site.middle.by, rank: [1, 0, 0] });
    edits.push({ at: site.to, to: site.to, by: site.close, rank: [0, -site.from, -order] });
  });
  const compare = (a, b) => a.at - b.at || a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1] || a.rank[2] - b.rank[2];
  edits.sort(compare);
  let out = '';
  let from = 0;
  for (const { at, to, by } of edits) {
    out += text.slice(from, at) + by;
    from = to;
  }
  return out + text.slice(from);
}

function findSites(text) {
  const { found, bodies } = new SiteFinder(text);
  const all = found.map((site, id) => ({ ...site, id }));
  const kept = editableSites(text, bodies, all, (site) => (site.what === null ? 0 : site.open(site.id).length + site.close.length));
  const within = ([from, to]) => (site) => site.at >= from && site.at < to;
  const functions = liveFunctions(bodies, text.length);
  // Whether each existing function has sites.
  const whole = functions.every((body) => !all.some(within(body)) || kept.some(within(body)) || isFrameworkCode(text, body));
  return { found: kept, whole };
}

module.exports = { NAME, instrumented, findSites };
