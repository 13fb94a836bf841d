exports.wide = (width) => {
  if (width > 10) {
    return true;
  }
  return false;
};
