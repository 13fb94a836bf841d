//! The person's own commands for build and tests.

use crate::lifecycle::team_sandbox::TeamSandbox;
use serde_json::Value;
use std::fs;

#[test]
fn configured_commands_replace_detected_ones() {
    let sandbox = TeamSandbox::planex().open();
    let settings = sandbox.path("wavecrew.toml");
    let text = "[verify]\nsetup = \"touch made-ready\"\nbuild = \"test -f made-ready\"\ntest = \"grep -qx repaired STATE\"\n";
    fs::write(&settings, text).unwrap();
    sandbox.write("STATE", "repaired\n");
    sandbox.git(&["add", "STATE"]);
    sandbox.git(&["commit", "-q", "-m", "a state"]);
    // What a worker writes into the settings changes nothing for its own work.
    let cheat = format!(
        "echo broken > STATE; printf '[verify]\\ntest = \"true\"\\n' > {}; report done",
        settings.display()
    );
    sandbox
        .worker("EXEC-001.1.1", &cheat)
        .worker("EXEC-001.1.2", "report done")
        .worker(
            "EXEC-001",
            "echo repaired > STATE; echo more > more; report repaired",
        );
    for task in ["EXEC-002", "EXEC-003"] {
        sandbox.worker(task, "echo $task > only-$task; report done");
    }
    sandbox.run_planex().expect_exit(0);
    sandbox.expect_prompt("EXEC-001.1.2", &["may not change: `wavecrew.toml`"]);
    sandbox.expect_prompt(
        "EXEC-001.1.3",
        &["failing since the change: grep -qx repaired STATE"],
    );
    let record: Value = sandbox.json("builds/ISS-20260308-000001.json");
    assert_eq!(record["state"]["tests"]["line"], "grep -qx repaired STATE");
    assert_eq!(record["state"]["build"]["outcome"], "passed");
}

#[test]
fn a_command_that_takes_too_long_fails() {
    let sandbox = TeamSandbox::planex();
    let text = "[verify]\ntest = \"test ! -f app/cli/count.py || sleep 600\"\nlimit_seconds = 1\n";
    sandbox.write("wavecrew.toml", text);
    sandbox.worker("EXEC-001", "echo x = 1 >> app/cli/count.py; report done");
    sandbox.run_planex().expect_exit(1);
    sandbox.expect_cell("EXEC-001", "error", "timed out after 1 s");
}

#[test]
fn invalid_settings_are_refused_before_anything_runs() {
    let sandbox = TeamSandbox::planex();
    sandbox.write(
        "wavecrew.toml",
        "agent = \"codex\"\n[verify]\ntest = [\"make\", \"test\"]\nlimit = 3\n",
    );
    sandbox
        .run_planex()
        .expect_exit(2)
        .expect_output("wavecrew.toml:3")
        .expect_output("`test` must be text")
        .expect_output("wavecrew.toml:4")
        .expect_output("unknown setting `limit` in [verify]");
    assert_eq!(sandbox.turns("PLAN-001"), 0);
}
