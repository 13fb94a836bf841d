import { test } from "vitest";
import { missing } from "../src/not-there";

test("never runs", () => missing());
