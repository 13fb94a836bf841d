//! The person's own commands for build and tests.

use crate::lifecycle::lab::Lab;
use serde_json::Value;
use std::fs;

#[test]
fn commands_of_the_person_take_the_place_of_what_is_found() {
    let lab = Lab::planex();
    let settings = lab.project().join("wavecrew.toml");
    let text = "[verify]\nsetup = \"touch made-ready\"\nbuild = \"test -f made-ready\"\ntest = \"grep -qx repaired STATE\"\n";
    fs::write(&settings, text).unwrap();
    fs::write(lab.project().join("STATE"), "repaired\n").unwrap();
    lab.git(&["add", "STATE"]);
    lab.git(&["commit", "-q", "-m", "a state"]);
    // What a worker writes into the settings changes nothing for its own work.
    let cheat = format!(
        "echo broken > STATE; printf '[verify]\\ntest = \"true\"\\n' > {}; report done",
        settings.display()
    );
    lab.answer("EXEC-001.1.1", &cheat).answer(
        "EXEC-001.1.2",
        "echo repaired > STATE; echo more > more; report repaired",
    );
    for task in ["EXEC-002", "EXEC-003"] {
        lab.answer(task, "echo $task > only-$task; report done");
    }
    lab.plan_and_execute().exits(0);
    let told = lab.prompt("EXEC-001.1.2");
    assert!(
        told.contains("failing since the change: grep -qx repaired STATE"),
        "{told}"
    );
    let record: Value = serde_json::from_str(&lab.read("builds/ISS-20260308-000001.json")).unwrap();
    assert_eq!(record["state"]["tests"]["line"], "grep -qx repaired STATE");
    assert_eq!(record["state"]["build"]["outcome"], "passed");
}

#[test]
fn a_command_that_takes_too_long_has_failed() {
    let lab = Lab::planex();
    let text = "[verify]\ntest = \"test ! -f app/cli/count.py || sleep 600\"\nlimit_seconds = 1\n";
    fs::write(lab.project().join("wavecrew.toml"), text).unwrap();
    lab.answer("EXEC-001", "echo x = 1 >> app/cli/count.py; report done");
    lab.plan_and_execute().exits(1);
    let error = lab.cell("EXEC-001", "error");
    assert!(error.contains("timed out after 1 s"), "{error}");
}

#[test]
fn settings_that_cannot_be_are_refused_before_anything_runs() {
    let lab = Lab::planex();
    fs::write(
        lab.project().join("wavecrew.toml"),
        "agent = \"codex\"\n[verify]\ntest = [\"make\", \"test\"]\nlimit = 3\n",
    )
    .unwrap();
    lab.plan_and_execute()
        .exits(2)
        .says("wavecrew.toml:3")
        .says("`test` must be text")
        .says("wavecrew.toml:4")
        .says("unknown setting `limit` in [verify]");
    assert_eq!(lab.ran("PLAN-001"), 0);
}
