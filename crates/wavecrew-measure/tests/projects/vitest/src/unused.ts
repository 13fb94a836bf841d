export function never(a: boolean): number {
  return a ? 1 : 2;
}
