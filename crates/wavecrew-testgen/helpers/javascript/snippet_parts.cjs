// The texts of a piece of a test, with slots for its literals.
'use strict';

const slot = (index) => `\u0001${index}\u0002`;

// A text with given literals.
function filled(text, args) {
  return text.replace(/\u0001(\d+)\u0002/g, (_, index) => args[index]);
}

// The statements of a call of a piece, and its expression.
function parts({ target: { snippet }, args }) {
  return { setup: filled(snippet.setup, args), observed: filled(snippet.observed, args) };
}

module.exports = { filled, parts, slot };
