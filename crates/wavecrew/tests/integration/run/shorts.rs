//! Many short workers: every prompt and every log can be read afterwards.

use crate::run::sandbox::{Sandbox, program};
use std::process::Command;

#[test]
fn every_prompt_and_log_can_be_read() {
    let ids: Vec<String> = (1..=100).map(|number| format!("t{number}")).collect();
    let sandbox = Sandbox::new()
        .tasks(&format!("id\n{}", ids.join("\n")))
        .flag("-c8");
    sandbox.run().expect_exit(0);
    for id in &ids {
        let name = format!("{id}.1.1.md");
        assert!(sandbox.file("prompts").join(&name).exists(), "{name}");
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
