import { describe, expect, it, test } from "vitest";
import { total } from "../src/cart";
import { wide } from "../src/größe map [1]";

describe("total", () => {
  it("adds", () => expect(total([100, 250])).toBe(350));
  it("is wrong", () => expect(total([100])).toBe(999));
  it.skip("is later", () => {});
});

test("weit ü", () => expect(wide(11)).toBe(true));
