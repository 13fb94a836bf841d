//! Many workers that are gone at once: whether what they were told and said is in files or in packs, it is there.

use crate::run::sandbox::{Sandbox, program};
use std::collections::BTreeSet;
use std::process::Command;
use wavecrew_session::PackReader;

#[test]
fn everything_told_and_said_can_be_read() {
    let ids: Vec<String> = (1..=100).map(|number| format!("t{number}")).collect();
    let sandbox = Sandbox::new()
        .tasks(&format!("id\n{}", ids.join("\n")))
        .flag("-c8");
    sandbox.run().expect_exit(0);
    let mut told: BTreeSet<String> = BTreeSet::new();
    let mut packs = PackReader::new(sandbox.file("prompts"));
    while let Some(entry) = packs.next_entry().unwrap() {
        told.insert(entry.name);
    }
    for id in &ids {
        let name = format!("{id}.1.1.md");
        assert!(told.contains(&name) || sandbox.file("prompts").join(&name).exists());
    }
    let session = sandbox.session_id();
    let logs = |word: &str| {
        let mut command = Command::new(program());
        command
            .current_dir(sandbox.folder())
            .args(["logs", &session, word]);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let listed: serde_json::Value = serde_json::from_str(&logs("--json")).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), ids.len());
    for id in ["t1", "t50", "t100"] {
        let shown = logs(id);
        assert!(shown.contains(&format!("\"id\":\"{id}\"")), "{shown}");
    }
}
