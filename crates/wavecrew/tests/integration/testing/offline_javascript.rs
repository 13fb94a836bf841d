//! The built-in agent on JavaScript that is wrong, or not as hoped for.

use crate::testing::testing_sandbox::TestingSandbox;

#[test]
fn suspected_defects_are_kept_in_later_rounds() {
    let source = "/** The inverse of `decodeKey`. */ export function encodeKey(text: string): string { return text.replace(/b/g, 'B'); }\n\
                  export function decodeKey(text: string): string { return text.replace(/B/g, 'b'); }\n\
                  export function first(items: string[]): string { return items[0].trim(); }\n\
                  export function spin(n: number): number { while (n > 2) { n += 0; } return n; }\n\
                  export function grow(n: number): number { const a = []; for (;;) a.push(new Array(1e6).fill(n)); }\n\
                  export function size(n: number): string {\n  if (n > 10) return 'large';\n  return 'small';\n}\n";
    let files = [
        (
            "package.json",
            r#"{"type": "module", "devDependencies": {"vitest": "*"}}"#,
        ),
        ("src/odd.ts", source),
        (
            "src/eager.ts",
            "const a = [];\nfor (;;) a.push(new Array(1e6).fill(1));\nexport const b = 1;\n",
        ),
    ];
    let Some(sandbox) = TestingSandbox::new(&files) else {
        return;
    };
    // A target that is out of reach, so that another round meets what the first one quarantined.
    let flags = "--seed 1 --offline-budget 2 --target L1=100 --mutation off";
    sandbox
        .wavecrew(&format!("testing -y --agent offline {flags}"))
        .expect_exit(0);
    assert_eq!(sandbox.row("TESTGEN-001")["status"], "completed");
    assert!(!sandbox.read("journal.ndjson").contains("tests were weakened"));
    let report = sandbox.read("context.md");
    let board = sandbox.read("discoveries.ndjson");
    for (line, kind, call) in [
        (1, "round trip", "encodeKey('B')"),
        (3, "internal error", "first([])"),
        (4, "does not end", "spin("),
        (5, "", "grow("),
    ] {
        let is_listed = report
            .lines()
            .any(|row| row.starts_with(&format!("| `src/odd.ts:{line}` | {kind}")) && row.contains(call));
        assert!(report.contains("## Suspected defects") && is_listed, "{report}");
        let entries = board
            .lines()
            .filter(|entry| entry.contains("defect_found") && entry.contains(call));
        assert_eq!(entries.count(), 1, "{call} is told once: {board}");
        let shown = |n: &str| {
            let file = sandbox.in_session(&format!("tests/L1-unit/quarantine-odd{n}.ts"));
            std::fs::read_to_string(file).is_ok_and(|text| text.contains(call))
        };
        assert!(
            ["", "-2", "-3", "-4"].into_iter().any(shown),
            "{call} has no test"
        );
    }
    assert!(
        report.contains(
            "src/eager.ts: the module does not load in a test: it uses more than 1024 MB of memory"
        ),
        "{report}"
    );
}
