//! Prompts and logs of many short workers, which are kept in packs.

use std::collections::BTreeSet;
use wavecrew_session::PackReader;
use wavecrew_test_support::sandbox::Sandbox;

#[test]
fn every_prompt_and_log_can_be_read() {
    let ids: Vec<String> = (1..=100).map(|number| format!("t{number}")).collect();
    let sandbox = Sandbox::new()
        .tasks(&format!("id\n{}", ids.join("\n")))
        .flag("-c8");
    sandbox.run().expect_exit(0);
    let mut prompts: BTreeSet<String> = BTreeSet::new();
    let mut packs = PackReader::new(sandbox.in_session("prompts"));
    while let Some(entry) = packs.next_entry().unwrap() {
        prompts.insert(entry.name);
    }
    for id in &ids {
        let name = format!("{id}.1.1.md");
        assert!(prompts.contains(&name) || sandbox.in_session("prompts").join(&name).exists());
    }
    let session = sandbox.session_id();
    let logs = |word: &str| sandbox.wavecrew(&["logs", &session, word]);
    let listed = logs("--json").json();
    assert_eq!(listed.as_array().unwrap().len(), ids.len());
    for id in ["t1", "t50", "t100"] {
        logs(id).expect_output(&format!("\"id\":\"{id}\""));
    }
}
