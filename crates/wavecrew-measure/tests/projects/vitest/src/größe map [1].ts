export const wide = (width: number): boolean => {
  if (width > 10) {
    return true;
  }
  return false;
};
