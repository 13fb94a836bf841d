const { missing } = require("../not-there");

test("never runs", () => missing());
