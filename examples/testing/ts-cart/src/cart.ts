export interface Line {
  name: string;
  cents: number;
  count: number;
}

/** Lines of one name become one line. */
export function merged(lines: Line[]): Line[] {
  const found = new Map<string, Line>();
  for (const line of lines) {
    const known = found.get(line.name);
    if (known === undefined) {
      found.set(line.name, { ...line });
    } else {
      known.count += line.count;
    }
  }
  return [...found.values()];
}

/** In cents; three for the price of two. */
export function total(lines: Line[]): number {
  let sum = 0;
  for (const { cents, count } of merged(lines)) {
    sum += cents * (count - Math.floor(count / 3));
  }
  return sum;
}

export function coupon(sum: number, code: string): number {
  switch (code) {
    case "TEN":
      return sum - Math.floor(sum / 10);
    case "FREE":
      return 0;
    default:
      throw new Error(`unknown coupon ${code}`);
  }
}
