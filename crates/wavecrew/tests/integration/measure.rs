//! `wavecrew measure` through the program itself, with a real pytest. Needs `scripts/install-frameworks.sh`;
//! `WAVECREW_SKIP_FRAMEWORKS=1` passes these tests over.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::Command;
use wavecrew_test_support::sandbox::Sandbox;

const SHOP: &str = "def fits(n):\n    return n <= 3\n\n\ndef tax(n):\n    return n * 2\n";
const TESTS: &str = "import shop\n\n\ndef test_fits():\n    assert shop.fits(1) is True\n    assert shop.fits(5) is False\n\n\n\
    def test_tax():\n    assert shop.tax(2) == 5\n";

fn shop() -> Option<Sandbox> {
    let sandbox = Sandbox::with_frameworks()?
        .file("pytest.ini", "[pytest]\n")
        .file("shop.py", SHOP)
        .file("test_shop.py", TESTS);
    Some(sandbox)
}

#[test]
fn figures_and_survivors_are_shown() {
    let Some(sandbox) = shop() else { return };
    let outcome = sandbox.wavecrew("measure --passing-only --mutation full");
    let text = outcome.expect_exit(1).stdout;
    for line in [
        "tests     1 passed, 1 failed; pass rate 50.00 %",
        "coverage  3 of 4 lines, 75.00 %",
        "uncovered 6",
        "red   test_shop.py::test_tax: ",
        // Of the changes on line 2, those of the edge alone go unnoticed.
        "survived shop.py:2  `<=` became `<`",
        "survived shop.py:2  `3` became `2`",
        "survived shop.py:2  `3` became `4`",
        "mutants   2 of 5 killed; effectiveness 40.00 %",
    ] {
        assert!(text.contains(line), "{line}\n---\n{text}");
    }
}

#[test]
fn figures_and_survivors_as_json() {
    let Some(sandbox) = shop() else { return };
    let outcome = sandbox.wavecrew("measure --json --mutation quick --seed 7");
    let json: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let found = &json["projects"][0];
    assert_eq!(found["pass_rate"], 0.5);
    // Without `--passing-only` coverage is that of a run by hand.
    assert_eq!(found["lines"]["covered"], 4);
    let tried = found["mutation"]["tried"].as_array().unwrap();
    assert!(!tried.is_empty());
    let killed = tried.iter().find(|t| t["fate"] == "killed").unwrap();
    assert_eq!(killed["by"][0], "test_shop.py::test_fits");
    assert!(killed["mutant"]["replacement"].is_string());
}

#[test]
fn no_test_outlives_a_killed_measurement() {
    let Some(sandbox) = shop() else { return };
    let line = sandbox.path("line");
    assert!(Command::new("mkfifo").arg(&line).status().unwrap().success());
    // A test that hangs, with a child that left its group and has none of its variables. Both hold the line.
    let test = format!(
        "import os, subprocess, time\n\n\ndef test_hangs():\n    line = os.open({line:?}, os.O_WRONLY)\n    \
         os.set_inheritable(line, True)\n    \
         subprocess.Popen(['sleep', '600'], close_fds=False, start_new_session=True, env={{'PATH': os.environ['PATH']}})\n    \
         os.write(line, b'here\\n')\n    time.sleep(600)\n    assert line == 0\n"
    );
    sandbox.write("test_shop.py", test);
    let measure = sandbox.spawn(&mut sandbox.command("measure"));
    let mut pipe = BufReader::new(File::open(&line).unwrap());
    let mut word = String::new();
    pipe.read_line(&mut word).unwrap();
    assert_eq!(word, "here\n");
    measure.kill();
    // It ends when its other end is closed.
    let mut rest = String::new();
    pipe.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
}
