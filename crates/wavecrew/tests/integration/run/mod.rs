//! `run` and `--continue` through the program itself, with scripted workers.

mod guardian;
mod hostile_workers;
pub mod interactive_agents;
mod issues;
mod keys;
mod packed_files;
mod questions;
mod rate_limits_and_budgets;
mod reports;
mod resume;
mod secrets;
mod sessions;
mod signals;
mod table_edits;
mod tampering;
mod waves;
mod worktrees;

use wavecrew_test_support::sandbox::Sandbox;

#[test]
fn agents_test_runs_a_program_of_this_folder_and_says_why_it_fails() {
    let report = r#"printf '{"id":"TEST","status":"completed"}' > "$WAVECREW_RESULT_FILE""#;
    let sandbox = Sandbox::new()
        .script(
            "good.sh",
            &format!("#!/bin/sh\necho hello > hello.txt\n{report}\n"),
        )
        .script("bad.sh", "#!/bin/sh\nexit 3\n");
    sandbox
        .wavecrew("agents test command:./good.sh")
        .expect_exit(0)
        .expect_output("command:./good.sh works");
    sandbox
        .wavecrew("agents test command:./bad.sh")
        .expect_exit(1)
        .expect_output("command:./bad.sh does not work: The worker exited with code 3");
}
