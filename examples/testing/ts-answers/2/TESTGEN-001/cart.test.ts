import { describe, expect, it } from "vitest";
import { coupon, merged, total } from "../../src/cart";

describe("total", () => {
  it("adds up", () => {
    expect(total([{ name: "tea", cents: 200, count: 2 }])).toBe(400);
  });

  it("gives the third for nothing", () => {
    expect(total([{ name: "tea", cents: 200, count: 3 }])).toBe(400);
  });
});

describe("merged", () => {
  it("joins lines of one name and leaves the others", () => {
    const lines = [
      { name: "tea", cents: 200, count: 1 },
      { name: "cup", cents: 900, count: 1 },
      { name: "tea", cents: 200, count: 2 },
    ];
    expect(merged(lines).map((line) => [line.name, line.count])).toEqual([
      ["tea", 3],
      ["cup", 1],
    ]);
  });
});

describe("coupon", () => {
  it("takes a tenth off", () => {
    expect(coupon(1005, "TEN")).toBe(905);
  });

  it("makes it free", () => {
    expect(coupon(1005, "FREE")).toBe(0);
  });

  it("refuses unknown codes", () => {
    expect(() => coupon(1, "X")).toThrow("unknown coupon X");
  });
});
