//! The built-in agent: real tests with no model and no network.

use super::lab::Lab;

#[test]
fn a_python_project_reaches_its_target() {
    let Some(lab) = Lab::example("python-shop") else {
        return;
    };
    let ran = lab.wavecrew(&[
        "testing",
        "-y",
        "--agent",
        "offline",
        "--seed",
        "1",
        "--offline-budget",
        "3",
    ]);
    ran.exits(0).says("Agent   offline");
    let row = lab.row("TESTRUN-001");
    let coverage: f64 = row["coverage_achieved"].parse().unwrap();
    assert!(coverage >= 80.0 && row["pass_rate"] == "1.00", "{row:?}");
    let strategy = lab.read("strategy/test-strategy.md");
    assert!(
        strategy.contains("## Priorities") && strategy.contains("shop/"),
        "{strategy}"
    );
}

#[test]
fn a_typescript_project_reaches_its_target() {
    let Some(lab) = Lab::example("ts-cart") else {
        return;
    };
    let words = [
        "testing",
        "-y",
        "--pipeline",
        "standard",
        "--agent",
        "offline",
        "--seed",
        "1",
        "--offline-budget",
        "4",
    ];
    lab.wavecrew(&words).exits(0);
    for id in ["TESTRUN-001", "TESTRUN-002"] {
        let row = lab.row(id);
        let coverage: f64 = row["coverage_achieved"].parse().unwrap();
        assert!(coverage >= 60.0 && row["pass_rate"] == "1.00", "{row:?}");
    }
    let report = lab.read("analysis/quality-report.md");
    assert!(report.contains("## Recommendations"), "{report}");
}

#[test]
fn suspected_defects_are_on_the_board_in_quarantine_and_in_the_report() {
    let source = "export function encodeKey(text: string): string { return text.replace(/b/g, 'B'); }\n\
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
    let Some(lab) = Lab::new(&files) else { return };
    // A target that is out of reach, so that another round meets what the first one quarantined.
    let words = [
        "testing",
        "-y",
        "--agent",
        "offline",
        "--seed",
        "1",
        "--offline-budget",
        "2",
        "--target",
        "L1=100",
        "--mutation",
        "off",
    ];
    lab.wavecrew(&words).exits(0);
    assert_eq!(lab.row("TESTGEN-001")["status"], "completed");
    assert!(!lab.read("journal.ndjson").contains("tests were weakened"));
    let report = lab.read("context.md");
    let board = lab.read("discoveries.ndjson");
    for (line, kind, call) in [
        (1, "round trip", "encodeKey('B')"),
        (3, "internal error", "first([])"),
        (4, "does not end", "spin("),
        (5, "", "grow("),
    ] {
        let told = report.lines().any(|said| {
            said.starts_with(&format!("- `src/odd.ts` line {line}, {kind}")) && said.contains(call)
        });
        assert!(report.contains("## Suspected defects") && told, "{report}");
        let entries = board
            .lines()
            .filter(|entry| entry.contains("defect_found") && entry.contains(call));
        assert_eq!(entries.count(), 1, "{call} is told once: {board}");
        assert!(lab.read("tests/L1-unit/quarantine-odd.ts").contains(call));
    }
    assert!(
        report.contains(
            "src/eager.ts: the module does not load in a test: it takes more than 1024 MB of memory"
        ),
        "{report}"
    );
}

#[test]
fn other_teams_are_not_its_work() {
    let Some(lab) = Lab::shop() else { return };
    lab.write("tasks.csv", "id,description\na,do it\n");
    lab.wavecrew(&["run", "tasks.csv", "-y", "--agent", "offline"])
        .exits(1)
        .says("scope.json");
}
