//! One run over two projects of a repository, each with a framework of its own.

use std::os::unix::fs::symlink;

use crate::testing::testing_sandbox::TestingSandbox;
use wavecrew_test_support::frameworks::installed;

const PRICE: &str = "def is_cheap(price):\n    if price < 10:\n        return True\n    return False\n";
const CART: &str = "export function count(items: number[]): number {\n  if (items.length > 9) {\n    return -1;\n  }\n  return items.length;\n}\n";

/// A Python and a TypeScript project; the first commit has both, the second changed the one, the third the other.
fn repository() -> Option<TestingSandbox> {
    let frameworks = installed()?;
    let sandbox = TestingSandbox::new(&[
        (".gitignore", ".venv\nnode_modules\n"),
        ("api/pyproject.toml", "[tool.pytest.ini_options]\n"),
        ("api/shop/price.py", PRICE),
        (
            "web/package.json",
            r#"{"type":"module","devDependencies":{"vitest":"4"}}"#,
        ),
        ("web/src/cart.ts", CART),
    ])?;
    symlink(frameworks.join("venv"), sandbox.path("api/.venv")).unwrap();
    symlink(frameworks.join("node_modules"), sandbox.path("web/node_modules")).unwrap();
    sandbox.git(&["init", "-q"]);
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "one"]);
    sandbox.write("api/shop/price.py", format!("{PRICE}\n\nCENTS = 100\n"));
    sandbox.git(&["commit", "-qam", "two"]);
    sandbox.write("web/src/cart.ts", format!("{CART}\nexport const EMPTY = 0;\n"));
    sandbox.git(&["commit", "-qam", "three"]);
    Some(sandbox)
}

#[test]
fn two_frameworks_are_measured_together_and_tests_go_to_their_project() {
    let Some(sandbox) = repository() else { return };
    sandbox.workers(
        r#"
if task == "TESTGEN-001":
    text(layer / "api/test_price.py", "from shop.price import is_cheap\n\n\ndef test_cheap():\n    assert is_cheap(9) is True\n    assert is_cheap(10) is False\n")
    text(layer / "web/cart.test.ts", "import { expect, test } from 'vitest';\nimport { count } from '../../src/cart';\n\ntest('counts', () => {\n  expect(count([1, 2])).toBe(2);\n  expect(count(new Array(10))).toBe(-1);\n});\n")
"#,
    );
    sandbox
        .test("--since HEAD~2 --pipeline targeted --mutation off --apply --target L1=85")
        .expect_exit(0)
        .expect_output("2 source files changed since HEAD~2 or untracked")
        .expect_output("2 of 2 tests pass (1.00), 100.00 % of the lines in scope covered");
    assert_eq!(sandbox.figures("TESTRUN-001"), "1.00 100.00");
    assert_eq!(sandbox.row("TESTRUN-001")["coverage_target"], "85");
    let cart = sandbox.text("web/tests/cart.test.ts");
    assert!(cart.contains("from '../src/cart'"), "{cart}");
    assert!(sandbox.path("api/tests/test_price.py").exists());
}

#[test]
fn paths_narrow_the_scope() {
    let Some(sandbox) = repository() else { return };
    for (words, scope) in [
        ("web", "Scope 1 source file changed since HEAD~1 or untracked\n"),
        (
            "api",
            "Scope all of api: none of its source files changed since HEAD~1 or untracked\n",
        ),
        (
            "./api/shop/price.py web/",
            "Scope 1 source file changed since HEAD~1 or untracked, all of api/shop/price.py\n",
        ),
        (
            "--since HEAD~2 api",
            "Scope 1 source file changed since HEAD~2 or untracked\n",
        ),
    ] {
        sandbox
            .wavecrew(&format!("plan testing {words}"))
            .expect_exit(0)
            .expect_output(scope);
    }
}
