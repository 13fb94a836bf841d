//! The built-in agent: real tests with no model and no network.

use crate::testing::testing_sandbox::TestingSandbox;
use wavecrew_test_support::sandbox::{Outcome, Sandbox, Words};

/// `wavecrew testing -y` with the built-in agent.
fn offline(sandbox: &Sandbox, flags: impl Words) -> Outcome {
    let mut command = sandbox.command("testing -y --agent offline --seed 1");
    sandbox.spawn(command.args(flags.list())).wait()
}

#[test]
fn a_python_project_reaches_its_target() {
    let Some(sandbox) = TestingSandbox::example("python-shop") else {
        return;
    };
    let ran = offline(&sandbox, "--offline-budget 3");
    ran.expect_exit(0).expect_output("Agent   offline");
    let row = sandbox.row("TESTRUN-001");
    let coverage: f64 = row["coverage_achieved"].parse().unwrap();
    assert!(coverage >= 80.0 && row["pass_rate"] == "1.00", "{row:?}");
    let strategy = sandbox.read("strategy/test-strategy.md");
    assert!(
        strategy.contains("## Priorities") && strategy.contains("shop/"),
        "{strategy}"
    );
}

#[test]
fn a_typescript_project_reaches_its_target() {
    let Some(sandbox) = TestingSandbox::example("ts-cart") else {
        return;
    };
    offline(&sandbox, "--pipeline standard --offline-budget 4").expect_exit(0);
    for id in ["TESTRUN-001", "TESTRUN-002"] {
        let row = sandbox.row(id);
        let coverage: f64 = row["coverage_achieved"].parse().unwrap();
        assert!(coverage >= 60.0 && row["pass_rate"] == "1.00", "{row:?}");
    }
    sandbox.expect_read("analysis/quality-report.md", "## Recommendations");
}

#[test]
fn a_met_target_ends_the_run_before_anything_is_generated() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    let tests = "import pytest\nfrom shop.price import is_cheap, total\n\n\ndef test_all():\n    assert total([10], 50) == 5\n    assert is_cheap(9) and not is_cheap(10)\n    with pytest.raises(ValueError):\n        total([], 101)\n";
    sandbox.write("tests/test_price.py", tests);
    let offline = "testing -y --agent offline --offline-budget 2 --mutation off";
    sandbox
        .wavecrew(offline)
        .expect_exit(0)
        .expect_output("the project's own tests cover 100.00 % of the lines in scope, and the target is 80 %")
        .expect_output("add --always or a higher --target");
    // Nothing to show beyond the project's own tests is not a failure.
    sandbox
        .wavecrew(&format!("{offline} --always"))
        .expect_exit(0)
        .expect_output("coverage 100 → 100 %");
}

#[test]
fn a_second_run_after_apply_avoids_the_names_of_the_first() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    let offline = "testing -y --agent offline --offline-budget 2 --mutation off --seed 1 --apply";
    sandbox
        .wavecrew(offline)
        .expect_exit(0)
        .expect_output(" kept · coverage 0 → ")
        .expect_output(" · apply with `wavecrew testing --continue ");
    sandbox.write(
        "shop/tax.py",
        "def tax(net):\n    if net < 0:\n        raise ValueError('net')\n    return net * 2\n",
    );
    sandbox.wavecrew(&format!("{offline} --always")).expect_exit(0);
}

#[test]
fn the_offline_agent_refuses_other_teams() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    sandbox.write("tasks.csv", "id,description\na,do it\n");
    sandbox.wavecrew("run tasks.csv -y --agent offline").expect_error(
        2,
        &["cannot do the work of the team `generic`", "wavecrew testing"],
    );
}

/// Wrong in four ways.
const CODEC: &str = r#"
def first_word(text: str) -> str:
    return text.split()[0]


def shout(text: str) -> str:
    """
    >>> shout("hello there")
    'HELLO THERE!'
    """
    return text.upper()


def encode_key(text: str) -> str:
    return text.strip()


def decode_key(text: str) -> str:
    """The inverse of encode_key."""
    return text
"#;

const LOOP: &str =
    "def countdown(n: int) -> int:\n    while n != 0:\n        n = n - 1 if n > 0 else -1\n    return n\n";

#[test]
fn suspected_defects_are_on_the_board_in_quarantine_and_in_the_report() {
    let files = [
        ("pyproject.toml", "[tool.pytest.ini_options]\n"),
        ("codec.py", CODEC),
        ("loop.py", LOOP),
    ];
    let Some(sandbox) = TestingSandbox::new(&files) else {
        return;
    };
    offline(&sandbox, "--offline-budget 3 --apply");
    let board = sandbox.read("discoveries.ndjson");
    let found: Vec<serde_json::Value> = board
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|entry: &serde_json::Value| entry["type"] == "defect_found")
        .collect();
    let report = sandbox.read("context.md");
    let (_, section) = report
        .split_once("\n## Suspected defects\n")
        .expect("the section");
    let quarantine =
        sandbox.read("tests/L1-unit/quarantine_codec.py") + &sandbox.read("tests/L1-unit/quarantine_loop.py");
    for (pattern, line, call, test) in [
        ("internal error", 3, "first_word('')", "    first_word(\"\")\n"),
        (
            "example disagrees",
            8,
            "shout(\"hello there\")",
            "    assert repr(shout(\"hello there\")) == \"'HELLO THERE!'\"",
        ),
        (
            "round trip",
            14,
            "encode_key('",
            "    assert decode_key(encode_key(\"",
        ),
        ("does not end", 1, "countdown(-", "    countdown(-"),
    ] {
        let is_reported = |entry: &&serde_json::Value| {
            let data = &entry["data"];
            let description = data["description"].as_str().unwrap();
            data["pattern"] == pattern && data["line"] == line && description.starts_with(call)
        };
        assert!(
            found.iter().any(|entry| is_reported(&entry)),
            "{pattern}: {board}"
        );
        assert!(
            section.contains(&format!(".py:{line}` | {pattern} | {call}")),
            "{section}"
        );
        assert!(quarantine.contains(test), "{quarantine}");
    }
    let delivered = sandbox.text("tests/test_codec_behaviour.py");
    for wrong in ["IndexError", "hello there", "countdown(-"] {
        assert!(!delivered.contains(wrong), "{delivered}");
    }
    let brought = std::fs::read_dir(sandbox.path("tests")).unwrap();
    let brought: Vec<_> = brought.map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        brought
            .iter()
            .all(|name| !name.to_string_lossy().starts_with("quarantine")),
        "{brought:?}"
    );
}

#[test]
fn generated_tests_use_the_fixtures_of_the_project() {
    let files = [
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\npythonpath = [\".\"]\n",
        ),
        (
            "cart.py",
            "class Cart:\n    def __init__(self, owner: str):\n        self.owner = owner\n        self.items = {}\n\n    def add(self, name: str, count: int = 1) -> None:\n        if count < 1:\n            raise ValueError('count')\n        self.items[name] = count\n",
        ),
        (
            "tests/conftest.py",
            "import pytest\nfrom cart import Cart\n\n\n@pytest.fixture\ndef cart():\n    return Cart('alice')\n",
        ),
        (
            "tests/test_owner.py",
            "def test_owner(cart):\n    assert cart.owner == 'alice'\n",
        ),
    ];
    let Some(sandbox) = TestingSandbox::new(&files) else {
        return;
    };
    offline(&sandbox, &["--offline-budget", "2", "--apply", "all of cart.py"]).expect_exit(0);
    let row = sandbox.row("TESTRUN-001");
    assert_eq!(row["pass_rate"], "1.00", "{row:?}");
    let text = sandbox.text("tests/test_cart_behaviour.py");
    assert!(
        text.contains("(cart):") && text.contains("    cart.add("),
        "{text}"
    );
}

#[test]
fn results_are_recorded_under_autouse_fixtures() {
    let files = [
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\npythonpath = [\".\"]\n",
        ),
        (
            "rates.py",
            "import os\n\nRATE = 10\n\n\ndef price(amount: int) -> int:\n    return amount * RATE\n\n\ndef region(code: str) -> str:\n    return os.environ.get('REGION', 'none') + '-' + code\n",
        ),
        (
            "tests/conftest.py",
            "import os\nimport pytest\nimport rates\n\n\n@pytest.fixture(autouse=True)\ndef rate(monkeypatch):\n    monkeypatch.setattr(rates, 'RATE', 7)\n\n\n@pytest.fixture(autouse=True, scope='session')\ndef area():\n    os.environ['REGION'] = 'eu'\n",
        ),
    ];
    let Some(sandbox) = TestingSandbox::new(&files) else {
        return;
    };
    offline(&sandbox, &["--offline-budget", "2", "--apply", "all of rates.py"]).expect_exit(0);
    let row = sandbox.row("TESTRUN-001");
    assert_eq!(row["pass_rate"], "1.00", "{row:?}");
    let text = sandbox.text("tests/test_rates_behaviour.py");
    assert!(text.contains("\"eu-") && text.contains("price("), "{text}");
}
