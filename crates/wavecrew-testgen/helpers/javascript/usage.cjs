// What the body of a function does with its parameters, and what types that suggests.
'use strict';

const HINTS = [
  [/^(is|has|should|can|use|with|no|enable|disable|allow)[A-Z_]|^(flag|strict|deep|loose|force|verbose)$/, { kind: 'boolean' }],
  [/^(fn|func|cb|callback|iteratee|predicate|mapper|reducer|compare(Fn)?|comparator|handler|transform|by|resolver|visitor)$/i, { kind: 'function' }],
  [/^(arr|array|list|items|values|elements|xs|rows|args|parts|words|numbers|nums|collection|entries|tokens|stack|queue|data)$/i, { kind: 'array', of: { kind: 'any' } }],
  [/^(obj|object|opts|options|config|settings|props|record|target|source|params|query|headers|attrs|map|dict)$/i, { kind: 'object' }],
  [/^(date|day|when|from|to|start|end)(Date)?$/i, { kind: 'union', options: [{ kind: 'date' }, { kind: 'number' }, { kind: 'string' }] }],
  [/(str|string|text|name|word|key|path|url|uri|prefix|suffix|char|line|html|css|json|input|pattern|format|sep|separator|delimiter|title|label|email|id|slug|color|locale|unit)s?$/i, { kind: 'string' }],
  [/^(n|m|i|j|k|x|y|z|a|b|c|num|number|count|size|len|length|index|idx|min|max|limit|width|height|depth|step|total|amount|price|rate|ms|seconds|minutes|hours|days|year|month|degree|radius|precision|digits|base|seed|offset|lower|upper|lo|hi|value)s?$/i, { kind: 'number' }],
  [/^(re|regex|regexp)$/i, { kind: 'regexp' }],
];

const OPTIONS = /^(opts?|options|config|settings|props|params)$/i;

// Types of a parameter, or of a field of one, by what the body does with it.
function byUse(name, body) {
  const p = name.replace(/[$.]/g, '\\$&').replace('\\.', '\\??\\.');
  const has = (pattern) => new RegExp(pattern).test(body);
  const uses = (pattern) => has(`(?<![\\w.$])${p}${pattern}`);
  const found = [];
  if (uses('\\s*\\.(?:trim|toLowerCase|toUpperCase|charAt|charCodeAt|codePointAt|split|replace|replaceAll|startsWith|endsWith|padStart|padEnd|match|matchAll|substring|substr|normalize|repeat|localeCompare)\\b')) found.push({ kind: 'string' });
  for (const kind of ['string', 'number', 'function', 'boolean', 'bigint']) {
    if (has(`typeof\\s+${p}\\s*[!=]==?\\s*['"]${kind}`)) found.push({ kind });
  }
  if (has(`Array\\.isArray\\(\\s*${p}\\b`)) found.push({ kind: 'array', of: { kind: 'any' } });
  if (has(`${p}\\s+instanceof\\s+Date|(?<![\\w.$])${p}\\s*\\.get(?:Time|FullYear|Month|Date|Hours)`)) found.push({ kind: 'date' });
  if (has(`${p}\\s+instanceof\\s+RegExp`)) found.push({ kind: 'regexp' });
  if (has(`${p}\\s+instanceof\\s+Map|(?<![\\w.$])${p}\\s*\\.(?:has|set)\\(`)) found.push({ kind: 'map', key: { kind: 'string' }, of: { kind: 'any' } });
  if (uses('\\s*\\.(?:map|filter|reduce|forEach|push|pop|some|every|sort|reverse|flat|flatMap|findIndex|find|splice|shift|unshift)\\b') || has(`\\bof\\s+${p}\\b`)) found.push({ kind: 'array', of: { kind: 'any' } });
  if (has(`Object\\.(?:keys|entries|values|assign)\\(\\s*${p}\\b|\\bin\\s+${p}\\b`)) found.push({ kind: 'object' });
  if (uses('\\s*\\(')) found.push({ kind: 'function' });
  const counted = uses('\\s*(?:[-*/%<>]|\\*\\*|[<>]=)\\s*[\\w(.]') || uses('\\s*\\.to(?:Fixed|Precision)\\b');
  if (counted || has(`[-*/%<>]\\s*${p}(?![\\w.$(])|Math\\.\\w+\\(\\s*${p}\\b|Number\\.is\\w+\\(\\s*${p}\\b`)) found.push({ kind: 'number' });
  return found.filter((type, at) => found.findIndex((other) => other.kind === type.kind) === at);
}

// The type of a field: by its use, by its default value, or by being used as a condition.
function ofField(owner, name, body) {
  const options = byUse(`${owner}.${name}`, body).concat(byUse(name, body));
  const fallback = body.match(new RegExp(`(?<![\\w.$])${name.replace(/\$/g, '\\$')}\\s*[:=]\\s*(true|false|-?\\d|['"\`])`));
  if (fallback) options.push({ kind: /^[tf]/.test(fallback[1]) ? 'boolean' : /\d/.test(fallback[1]) ? 'number' : 'string' });
  const p = `${owner}\\??\\.${name}`.replace(/\$/g, '\\$');
  if (new RegExp(`!\\s*${p}\\b|${p}\\s*(?:\\?[^.?]|&&|\\)|===?\\s*(?:true|false))`).test(body)) options.push({ kind: 'boolean' });
  if (options.length > 0) return oneOf(options);
  const hint = HINTS.find(([pattern]) => pattern.test(name));
  return hint ? hint[1] : { kind: 'any' };
}

function oneOf(options) {
  const kinds = options.filter((type, at) => options.findIndex((other) => other.kind === type.kind) === at);
  return kinds.length === 1 ? kinds[0] : { kind: 'union', options: kinds };
}

// Fields of a parameter that the code reads.
function fieldsRead(name, body) {
  const p = name.replace(/\$/g, '\\$');
  const names = new Set();
  for (const match of body.matchAll(new RegExp(`(?<![\\w.$])${p}\\??\\.([A-Za-z_$][\\w$]*)(?![\\w$])(?!\\s*\\()`, 'g'))) names.add(match[1]);
  for (const match of body.matchAll(new RegExp(`\\{([^{}]*)\\}\\s*=\\s*${p}\\b`, 'g'))) {
    for (const part of match[1].split(',')) {
      const field = part.trim().match(/^[A-Za-z_$][\w$]*/);
      if (field) names.add(field[0]);
    }
  }
  names.delete('length');
  return [...names].slice(0, 16);
}

// The type of a parameter. `others` are the bodies of other functions, to which options may be passed on.
function guess(param, body, others = '') {
  const options = byUse(param.name, body);
  const everywhere = OPTIONS.test(param.name) ? `${body}\n${others}` : body;
  const fields = fieldsRead(param.name, everywhere);
  if (fields.length > 0 && !options.some((type) => ['string', 'array', 'date', 'map', 'number'].includes(type.kind))) {
    return { kind: 'fields', fields: fields.map((name) => ({ name, optional: true, type: ofField(param.name, name, everywhere) })) };
  }
  const hint = HINTS.find(([pattern]) => pattern.test(param.name));
  if (options.length === 0 && hint) options.push(hint[1]);
  if (options.length === 0) return { kind: 'any' };
  return oneOf(options);
}

module.exports = { byUse, guess };
