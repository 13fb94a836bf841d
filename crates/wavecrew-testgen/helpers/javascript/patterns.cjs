// Strings that match a regular expression.
'use strict';

// Walks over the source of the expression.
function stringMatching(source, random) {
  let at = 0;
  const sets = { d: '0123456789', w: 'abcXYZ09_', s: ' ', D: 'ab-', W: '-. ', S: 'aZ9' };
  function quantity(make) {
    const mark = source[at];
    let [least, most] = [1, 1];
    if (mark === '*') { [least, most] = [0, 3]; at += 1; }
    else if (mark === '+') { [least, most] = [1, 3]; at += 1; }
    else if (mark === '?') { [least, most] = [0, 1]; at += 1; }
    else if (mark === '{') {
      const bounds = source.slice(at).match(/^\{(\d+)(,(\d*))?\}/);
      if (bounds) {
        least = Number(bounds[1]);
        most = bounds[2] ? Number(bounds[3] || least + 2) : least;
        at += bounds[0].length;
      }
    }
    if (source[at] === '?') at += 1;
    // Long repetitions are rarely useful.
    if (!random.oneIn(12)) most = Math.min(most, least + 3);
    const times = Math.min(least + random.below(most - least + 1), 40);
    let text = '';
    for (let n = 0; n < times; n += 1) text += make();
    return text;
  }
  function group() {
    const branches = [''];
    while (at < source.length && source[at] !== ')') {
      if (source[at] === '|') { at += 1; branches.push(''); continue; }
      branches[branches.length - 1] += piece();
    }
    return random.pick(branches);
  }
  function charClass() {
    at += 1;
    const negated = source[at] === '^';
    if (negated) at += 1;
    let members = '';
    while (at < source.length && source[at] !== ']') {
      let char = source[at];
      if (char === '\\') {
        at += 1;
        members += sets[source[at]] || source[at];
        at += 1;
        continue;
      }
      at += 1;
      if (source[at] === '-' && source[at + 1] && source[at + 1] !== ']') {
        const last = source[at + 1];
        const [low, high] = [char.charCodeAt(0), last.charCodeAt(0)];
        members += char + String.fromCharCode(low + Math.floor((high - low) / 2)) + last;
        at += 2;
        char = '';
      }
      members += char;
    }
    at += 1;
    if (negated) members = [...'aZ5 -_.,'].filter((char) => !members.includes(char)).join('') || 'a';
    return members || 'a';
  }
  function piece() {
    const char = source[at];
    if (char === '^' || char === '$') { at += 1; return ''; }
    if (char === '(') {
      at += 1;
      const ahead = source.slice(at).match(/^\?(?:<?[=!])/);
      const named = source.slice(at).match(/^\?(?::|<[^>=!]+>)/);
      if (ahead) at += ahead[0].length;
      else if (named) at += named[0].length;
      const text = group();
      at += 1;
      return ahead ? '' : quantity(() => text);
    }
    if (char === '[') {
      const members = charClass();
      return quantity(() => members[random.below(members.length)]);
    }
    if (char === '\\') {
      const kind = source[at + 1];
      at += 2;
      if (kind === 'b' || kind === 'B') return '';
      if (kind === 'u' || kind === 'p' || kind === 'P' || kind === 'x') {
        const rest = source.slice(at).match(/^(\{[^}]*\}|[0-9a-fA-F]{2,4})/);
        if (rest) at += rest[0].length;
        return quantity(() => 'é');
      }
      const members = sets[kind] || { n: '\n', t: '\t', r: '\r' }[kind] || kind || '';
      return quantity(() => members[random.below(members.length)] || '');
    }
    at += 1;
    return quantity(() => (char === '.' ? 'x' : char));
  }
  const text = group();
  return text.length <= 200 ? text : text.slice(0, 200);
}

module.exports = { stringMatching };
