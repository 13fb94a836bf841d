//! `wavecrew measure` through the program itself, with a real pytest. Needs `scripts/install-frameworks.sh`;
//! `WAVECREW_SKIP_FRAMEWORKS=1` passes these tests over.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::symlink;
use std::process::{Command, Output};
use tempfile::TempDir;

struct Project(TempDir);

impl Project {
    fn new() -> Option<Self> {
        let venv = wavecrew_test_support::frameworks::installed()?.join("venv");
        let project = Self(tempfile::tempdir().unwrap());
        symlink(venv, project.0.path().join(".venv")).unwrap();
        let files = [
            ("pytest.ini", "[pytest]\n"),
            (
                "shop.py",
                "def fits(n):\n    return n <= 3\n\n\ndef tax(n):\n    return n * 2\n",
            ),
            (
                "test_shop.py",
                "import shop\n\n\ndef test_fits():\n    assert shop.fits(1) is True\n    assert shop.fits(5) is False\n\n\n\
                 def test_tax():\n    assert shop.tax(2) == 5\n",
            ),
        ];
        for (name, text) in files {
            fs::write(project.0.path().join(name), text).unwrap();
        }
        Some(project)
    }

    fn measure(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wavecrew"));
        command
            .arg("measure")
            .args(words)
            .current_dir(self.0.path())
            .env("XDG_CACHE_HOME", self.0.path().join(".cache"));
        command
    }
}

#[test]
fn figures_and_survivors_are_shown() {
    let Some(project) = Project::new() else { return };
    let ran = project.measure(&["--passing-only", "--mutation", "full"]);
    let text = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    for line in [
        "tests     1 passed, 1 failed; pass rate 50.00 %",
        "coverage  3 of 4 lines, 75.00 %",
        "uncovered 6",
        "red   test_shop.py::test_tax: ",
        // Of the changes on line 2, those of the edge alone go unnoticed.
        "survived shop.py:2  `<=` became `<`",
        "survived shop.py:2  `3` became `2`",
        "survived shop.py:2  `3` became `4`",
        "mutants   2 of 5 killed; 40.00 % noticed",
    ] {
        assert!(text.contains(line), "{line}\n---\n{text}");
    }
}

#[test]
fn the_same_comes_as_data() {
    let Some(project) = Project::new() else { return };
    let ran = project.measure(&["--json", "--mutation", "quick", "--seed", "7"]);
    let json: Value = serde_json::from_slice(&ran.stdout).unwrap();
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
fn no_test_outlives_it_even_when_it_is_killed() {
    let Some(project) = Project::new() else { return };
    let line = project.0.path().join("line");
    assert!(Command::new("mkfifo").arg(&line).status().unwrap().success());
    // A test that hangs, with a child that left its group and has none of its variables. Both hold the line.
    let test = format!(
        "import os, subprocess, time\n\n\ndef test_hangs():\n    line = os.open({line:?}, os.O_WRONLY)\n    \
         os.set_inheritable(line, True)\n    \
         subprocess.Popen(['sleep', '600'], close_fds=False, start_new_session=True, env={{'PATH': os.environ['PATH']}})\n    \
         os.write(line, b'here\\n')\n    time.sleep(600)\n    assert line == 0\n"
    );
    fs::write(project.0.path().join("test_shop.py"), test).unwrap();
    let mut measure = project.command(&[]).spawn().unwrap();
    let mut heard = BufReader::new(File::open(&line).unwrap());
    let mut word = String::new();
    heard.read_line(&mut word).unwrap();
    assert_eq!(word, "here\n");
    measure.kill().unwrap();
    measure.wait().unwrap();
    // It ends when nobody holds its other end any more.
    let mut rest = String::new();
    heard.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
}
