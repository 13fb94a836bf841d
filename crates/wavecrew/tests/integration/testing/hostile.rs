//! Test runs that hang, die, flood, or lack something: each costs what it must, and is told in its own words.

use crate::testing::lab::Lab;

const GOOD: &str = "from shop.price import is_cheap, total\n\n\ndef test_all():\n    assert total([1, 2]) == 3\n    assert is_cheap(9) is True\n    assert is_cheap(10) is False\n";

/// A test that the executor finds beside a good one, and mends when it was told what is wrong.
fn mended(bad: &str) -> Option<Lab> {
    let lab = Lab::shop()?;
    let bad = format!(
        "import os, time\nfrom shop.price import total\n\n\ndef test_bad(capfd):\n    {bad}\n    assert total([]) == 0\n"
    );
    lab.agent(&format!(
        "bad = {bad:?}\nif task == 'TESTGEN-001':\n    text(layer / 'test_price.py', {GOOD:?})\n    text(layer / 'test_bad.py', bad)\nif task == 'TESTRUN-001':\n    text(session / 'prompt.txt', prompt)\n    text(layer / 'test_bad.py', bad.replace(bad.splitlines()[5], '    assert total([5]) == 5'))\n"
    ));
    Some(lab)
}

/// The run comes to a good end, after its executor was told this of the bad test and nothing of the good one.
#[track_caller]
fn is_told(lab: &Lab, flags: &[&str], said: &str) {
    lab.run(&[&["--mutation", "off", "--target", "L1=60"], flags].concat())
        .exits(0);
    assert_eq!(lab.figures("TESTRUN-001"), "1.00 88.88");
    let told = lab.read("prompt.txt");
    assert!(
        told.contains(said) && !told.contains("test_all"),
        "no `{said}` in {told}"
    );
    assert_eq!(lab.running(), [""; 0]);
}

#[test]
fn a_test_that_hangs_is_ended() {
    let Some(lab) = mended("time.sleep(6000)") else {
        return;
    };
    is_told(&lab, &["--test-timeout", "20"], "took longer than");
}

#[test]
fn a_test_that_kills_its_process() {
    let Some(lab) = mended("os.kill(os.getpid(), 9)") else {
        return;
    };
    is_told(&lab, &[], "was killed by signal 9 before it wrote its report");
}

#[test]
fn a_test_that_prints_a_gigabyte() {
    let flood =
        "with capfd.disabled(): [os.write(1, b'x' * 1048576) for _ in range(1024)]; assert total([]) == 1";
    let Some(lab) = mended(flood) else { return };
    is_told(&lab, &[], "assert 0.0 == 1");
    let size = size(&lab);
    assert!(size < 20_000_000, "the session holds {size} bytes");
}

/// Bytes of everything that the session holds.
fn size(lab: &Lab) -> u64 {
    let mut folders = vec![lab.session()];
    let mut size = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                size += entry.metadata().unwrap().len();
            }
        }
    }
    size
}

#[test]
fn a_test_that_needs_a_missing_package() {
    let Some(lab) = Lab::shop() else { return };
    lab.agent("if task == 'TESTGEN-001':\n    text(layer / 'test_bad.py', 'import surely_not_there\\nfrom shop.price import total\\n\\n\\ndef test_total():\\n    assert surely_not_there.x(total([])) == 0\\n')\n");
    lab.run(&["--mutation", "off"]).exits(1);
    let row = lab.row("TESTGEN-001");
    assert!(
        row["error"].contains("No module named 'surely_not_there'"),
        "{row:?}"
    );
}

#[test]
fn own_tests_that_hang_die_or_lack_a_package_are_told_before_anything_is_written() {
    for (file, text, said) in [
        (
            "tests/test_own.py",
            "import time\n\n\ndef test_own():\n    time.sleep(6000)\n",
            "the test run took longer than 30 s and was ended",
        ),
        (
            "tests/test_own.py",
            "import os\n\n\ndef test_own():\n    os.kill(os.getpid(), 9)\n",
            "the test run was killed by signal 9 before it wrote its report",
        ),
        (
            "conftest.py",
            "import surely_not_there\n",
            "pip install surely_not_there",
        ),
    ] {
        let Some(lab) = Lab::shop() else { return };
        lab.write(file, text);
        lab.agent(&format!(
            "if task == 'TESTGEN-001':\n    text(layer / 'test_price.py', {GOOD:?})\n"
        ));
        let ran = lab.run(&["--mutation", "off", "--target", "L1=60", "--test-timeout", "30"]);
        ran.says(said);
        assert_eq!(lab.running(), [""; 0]);
    }
}

#[test]
fn settings_that_leave_all_files_out_are_told() {
    let Some(lab) = Lab::shop() else { return };
    lab.write(
        "pyproject.toml",
        "[tool.pytest.ini_options]\n\n[tool.coverage.run]\nomit = [\"shop/*\"]\n",
    );
    lab.agent(&format!(
        "if task == 'TESTGEN-001':\n    text(layer / 'test_price.py', {GOOD:?})\n"
    ));
    let said = "settings leave out all files in scope";
    lab.run(&["--mutation", "off"]).exits(0).says(said);
    assert_eq!(lab.figures("TESTRUN-001"), "1.00 ");
    let findings = &lab.row("TESTRUN-001")["findings"];
    assert!(findings.contains(said), "{findings}");
}

#[test]
fn without_changes_or_with_deleted_files_only_it_is_the_whole_project_and_says_why() {
    let Some(lab) = Lab::new(&[
        ("pyproject.toml", ""),
        ("src/a.py", "a = 1\n"),
        ("src/b.py", "b = 1\n"),
    ]) else {
        return;
    };
    lab.write(".gitignore", ".venv\nnode_modules\n");
    lab.git(&["init", "-q"])
        .git(&["add", "."])
        .git(&["commit", "-qm", "one"]);
    let planned = |words: &[&str]| lab.wavecrew(&[&["plan", "testing"], words].concat()).exits(0);
    planned(&[]).says("the whole project: nothing staged or untracked");
    lab.git(&["commit", "-q", "--allow-empty", "-m", "two"]);
    planned(&[]).says("the whole project: nothing changed since HEAD~1 or untracked");
    lab.git(&["rm", "-q", "src/b.py"])
        .git(&["commit", "-qm", "three"]);
    planned(&[]).says("the whole project: all of 1 file changed since HEAD~1 or untracked are deleted");
    lab.wavecrew(&["plan", "testing", "--since", "nowhere"])
        .exits(2)
        .says("git knows no revision `nowhere` here");
    planned(&["--since", "HEAD~2"]).says("all of 1 file changed since HEAD~2 or untracked are deleted");
}
