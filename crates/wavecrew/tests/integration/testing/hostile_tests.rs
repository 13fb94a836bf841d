//! Test runs that hang, die, flood, or lack something: each has its own message.

use crate::testing::testing_sandbox::TestingSandbox;

const GOOD: &str = "from shop.price import is_cheap, total\n\n\ndef test_all():\n    assert total([1, 2]) == 3\n    assert is_cheap(9) is True\n    assert is_cheap(10) is False\n";

/// A bad test beside a good one, which the executor repairs.
fn repaired(bad: &str) -> Option<TestingSandbox> {
    let sandbox = TestingSandbox::shop()?;
    let bad = format!(
        "import os, time\nfrom shop.price import total\n\n\ndef test_bad(capfd):\n    {bad}\n    assert total([]) == 0\n"
    );
    sandbox.workers(&format!(
        "bad = {bad:?}\nif task == 'TESTGEN-001':\n    text(layer / 'test_price.py', {GOOD:?})\n    text(layer / 'test_bad.py', bad)\nif task == 'TESTRUN-001':\n    text(traces / 'prompt.txt', prompt)\n    text(layer / 'test_bad.py', bad.replace(bad.splitlines()[5], '    assert total([5]) == 5'))\n"
    ));
    Some(sandbox)
}

/// Fails unless the run succeeds and its executor gets this text about the bad test, and nothing about the good one.
#[track_caller]
fn expect_feedback(sandbox: &TestingSandbox, flags: &str, text: &str) {
    sandbox
        .test(&format!("--mutation off --target L1=60 {flags}"))
        .expect_exit(0);
    assert_eq!(sandbox.figures("TESTRUN-001"), "1.00 88.88");
    let prompt = sandbox.trace("prompt.txt");
    assert!(
        prompt.contains(text) && !prompt.contains("test_all"),
        "no `{text}` in {prompt}"
    );
    sandbox.expect_no_processes();
}

#[test]
fn a_test_that_hangs_is_ended() {
    let Some(sandbox) = repaired("time.sleep(6000)") else {
        return;
    };
    expect_feedback(&sandbox, "--test-timeout 20", "took longer than");
}

#[test]
fn a_test_that_kills_its_process() {
    let Some(sandbox) = repaired("os.kill(os.getpid(), 9)") else {
        return;
    };
    expect_feedback(&sandbox, "", "was killed by signal 9 before it wrote its report");
}

#[test]
fn a_test_that_prints_a_gigabyte() {
    let flood =
        "with capfd.disabled(): [os.write(1, b'x' * 1048576) for _ in range(1024)]; assert total([]) == 1";
    let Some(sandbox) = repaired(flood) else { return };
    expect_feedback(&sandbox, "", "assert 0.0 == 1");
    let size = size(&sandbox);
    assert!(size < 20_000_000, "the session holds {size} bytes");
}

/// Bytes of everything that the session holds.
fn size(sandbox: &TestingSandbox) -> u64 {
    let mut folders = vec![sandbox.session()];
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
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    sandbox.workers("if task == 'TESTGEN-001':\n    text(layer / 'test_bad.py', 'import surely_not_there\\nfrom shop.price import total\\n\\n\\ndef test_total():\\n    assert surely_not_there.x(total([])) == 0\\n')\n");
    sandbox.test("--mutation off").expect_exit(1);
    sandbox.expect_cell("TESTGEN-001", "error", "No module named 'surely_not_there'");
}

#[test]
fn own_tests_that_hang_die_or_lack_a_package_are_reported_before_anything_is_written() {
    for (file, text, message) in [
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
        let Some(sandbox) = TestingSandbox::shop() else {
            return;
        };
        sandbox.write(file, text);
        sandbox.workers(&format!(
            "if task == 'TESTGEN-001':\n    text(layer / 'test_price.py', {GOOD:?})\n"
        ));
        let ran = sandbox.test("--mutation off --target L1=60 --test-timeout 30");
        ran.expect_output(message);
        sandbox.expect_no_processes();
    }
}

#[test]
fn settings_that_leave_out_all_files_are_reported() {
    let Some(sandbox) = TestingSandbox::shop() else {
        return;
    };
    sandbox.write(
        "pyproject.toml",
        "[tool.pytest.ini_options]\n\n[tool.coverage.run]\nomit = [\"shop/*\"]\n",
    );
    sandbox.workers(&format!(
        "if task == 'TESTGEN-001':\n    text(layer / 'test_price.py', {GOOD:?})\n"
    ));
    let message = "settings exclude all files in scope";
    sandbox
        .test("--mutation off")
        .expect_exit(0)
        .expect_output(message);
    assert_eq!(sandbox.figures("TESTRUN-001"), "1.00 ");
    sandbox.expect_cell("TESTRUN-001", "findings", message);
}

#[test]
fn without_changed_files_the_scope_is_the_whole_project() {
    let Some(sandbox) = TestingSandbox::new(&[
        ("pyproject.toml", ""),
        ("src/a.py", "a = 1\n"),
        ("src/b.py", "b = 1\n"),
    ]) else {
        return;
    };
    sandbox.write(".gitignore", ".venv\nnode_modules\n");
    sandbox.git(&["init", "-q"]);
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "one"]);
    let planned = |flags: &str| sandbox.wavecrew(&format!("plan testing {flags}")).expect_exit(0);
    planned("").expect_output("the whole project: nothing uncommitted");
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "two"]);
    planned("").expect_output("the whole project: nothing changed since HEAD~1 or untracked");
    sandbox.git(&["rm", "-q", "src/b.py"]);
    sandbox.git(&["commit", "-qm", "three"]);
    planned("")
        .expect_output("the whole project: all of 1 file changed since HEAD~1 or untracked are deleted");
    sandbox
        .wavecrew("plan testing --since nowhere")
        .expect_exit(2)
        .expect_output("git knows no revision `nowhere` here");
    planned("--since HEAD~2").expect_output("all of 1 file changed since HEAD~2 or untracked are deleted");
}
