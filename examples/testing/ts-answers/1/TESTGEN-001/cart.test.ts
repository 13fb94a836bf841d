import { describe, expect, it } from "vitest";
import { total } from "../../src/cart";

describe("total", () => {
  it("adds up", () => {
    expect(total([{ name: "tea", cents: 200, count: 2 }])).toBe(400);
  });

  it("gives the third for nothing", () => {
    expect(total([{ name: "tea", cents: 200, count: 3 }])).toBe(600);
  });
});
