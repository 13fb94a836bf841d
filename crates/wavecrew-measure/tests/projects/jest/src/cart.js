function total(prices, discount = 0) {
  if (prices.length === 0) {
    return 0;
  }
  if (discount < 0) {
    throw new Error("a discount is never negative");
  }
  const sum = prices.reduce((a, b) => a + b, 0);
  return Math.floor((sum * (100 - discount)) / 100);
}

function label(cents) {
  return cents % 100 === 0 ? `${cents / 100} EUR` : `${(cents / 100).toFixed(2)} EUR`;
}

module.exports = { total, label };
