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
fn a_met_target_ends_the_run_before_anything_is_generated() {
    let Some(lab) = Lab::shop() else { return };
    let tests = "import pytest\nfrom shop.price import is_cheap, total\n\n\ndef test_all():\n    assert total([10], 50) == 5\n    assert is_cheap(9) and not is_cheap(10)\n    with pytest.raises(ValueError):\n        total([], 101)\n";
    lab.write("tests/test_price.py", tests);
    let offline = ["testing", "-y", "--agent", "offline", "--offline-budget", "2"];
    lab.wavecrew(&offline)
        .exits(0)
        .says("the project's own tests cover 100.00 % of the lines in scope, and the target is 80 %")
        .says("add --always or a higher --target");
    lab.wavecrew(&["status"]).exits(2);
    // Whoever asks for more gets it; that there is nothing more to show is no failure.
    lab.wavecrew(&[&offline[..], &["--always", "--mutation", "off"]].concat())
        .exits(0)
        .says("coverage 100 → 100 %");
}

#[test]
fn a_second_run_after_apply_keeps_clear_of_the_names_of_the_first() {
    let Some(lab) = Lab::shop() else { return };
    let offline = [
        "testing",
        "-y",
        "--agent",
        "offline",
        "--offline-budget",
        "2",
        "--seed",
        "1",
        "--apply",
    ];
    lab.wavecrew(&offline)
        .exits(0)
        .says(" kept · coverage 0 → ")
        .says(" · apply with `wavecrew testing --continue ");
    lab.write(
        "shop/tax.py",
        "def tax(net):\n    if net < 0:\n        raise ValueError('net')\n    return net * 2\n",
    );
    lab.wavecrew(&[&offline[..], &["--always"]].concat()).exits(0);
}

#[test]
fn other_teams_are_not_its_work() {
    let Some(lab) = Lab::shop() else { return };
    lab.write("tasks.csv", "id,description\na,do it\n");
    lab.wavecrew(&["run", "tasks.csv", "-y", "--agent", "offline"])
        .exits(1)
        .says("scope.json");
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
    let Some(lab) = Lab::new(&files) else { return };
    let words = ["testing", "-y", "--agent", "offline", "--seed", "1"];
    lab.wavecrew(&[&words[..], &["--offline-budget", "3", "--apply"]].concat());
    let board = lab.read("discoveries.ndjson");
    let found: Vec<serde_json::Value> = board
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|entry: &serde_json::Value| entry["type"] == "defect_found")
        .collect();
    let report = lab.read("context.md");
    let (_, section) = report
        .split_once("\n## Suspected defects\n")
        .expect("the section");
    let quarantine =
        lab.read("tests/L1-unit/quarantine_codec.py") + &lab.read("tests/L1-unit/quarantine_loop.py");
    for (pattern, line, call, test) in [
        ("internal error", 3, "first_word('')", "    first_word('')\n"),
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
            "    assert decode_key(encode_key('",
        ),
        ("does not end", 1, "countdown(-", "    countdown(-"),
    ] {
        let told = |entry: &&serde_json::Value| {
            let data = &entry["data"];
            let description = data["description"].as_str().unwrap();
            data["pattern"] == pattern && data["line"] == line && description.starts_with(call)
        };
        assert!(found.iter().any(|entry| told(&entry)), "{pattern}: {board}");
        assert!(
            section.contains(&format!(".py:{line}` | {pattern} | {call}")),
            "{section}"
        );
        assert!(quarantine.contains(test), "{quarantine}");
    }
    let delivered = lab.project.join("tests/test_codec_behaviour.py");
    let delivered = std::fs::read_to_string(delivered).unwrap();
    for wrong in ["IndexError", "hello there", "countdown(-"] {
        assert!(!delivered.contains(wrong), "{delivered}");
    }
    let brought = std::fs::read_dir(lab.project.join("tests")).unwrap();
    let brought: Vec<_> = brought.map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        brought
            .iter()
            .all(|name| !name.to_string_lossy().starts_with("quarantine")),
        "{brought:?}"
    );
}

#[test]
fn fixtures_of_the_project_are_used_again() {
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
    let Some(lab) = Lab::new(&files) else { return };
    let words = ["testing", "-y", "--agent", "offline", "--seed", "1"];
    lab.wavecrew(
        &[
            &words[..],
            &["--offline-budget", "2", "--apply", "all of cart.py"],
        ]
        .concat(),
    )
    .exits(0);
    let row = lab.row("TESTRUN-001");
    assert_eq!(row["pass_rate"], "1.00", "{row:?}");
    let text = std::fs::read_to_string(lab.project.join("tests/test_cart_behaviour.py")).unwrap();
    assert!(
        text.contains("(cart):") && text.contains("    cart.add("),
        "{text}"
    );
}

#[test]
fn results_are_recorded_under_fixtures_that_every_test_gets() {
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
    let Some(lab) = Lab::new(&files) else { return };
    let words = ["testing", "-y", "--agent", "offline", "--seed", "1"];
    lab.wavecrew(
        &[
            &words[..],
            &["--offline-budget", "2", "--apply", "all of rates.py"],
        ]
        .concat(),
    )
    .exits(0);
    let row = lab.row("TESTRUN-001");
    assert_eq!(row["pass_rate"], "1.00", "{row:?}");
    let text = std::fs::read_to_string(lab.project.join("tests/test_rates_behaviour.py")).unwrap();
    assert!(text.contains("\"eu-") && text.contains("price("), "{text}");
}
