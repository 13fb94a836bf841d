//! Interactive workers over ACP, played by a shell script: turns in one process, questions, timeouts, ends.

use wavecrew_test_support::sandbox::{Outcome, Sandbox};

/// A program that speaks the protocol. `$1` is what it does with a prompt; `$n` counts the prompts.
pub const AGENT: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
answer() { say "\"id\":$id,\"result\":$1"; }
text() { say '"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}}'; }
done_() { answer '{"stopReason":"end_turn","usage":{"totalTokens":12,"outputTokens":5}}'; }
report='{\"id\":\"a\",\"status\":\"completed\",\"findings\":\"told\"}'
n=0
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*) echo "a banner"; answer '{"protocolVersion":1,"agentInfo":{"version":"7"},"agentCapabilities":{"loadSession":true}}' ;;
    *'"method":"session/new"'*) answer '{"sessionId":"s-1"}' ;;
    *'"method":"session/load"'*) touch loaded; answer '{}' ;;
    *'"method":"session/set_model"'*) printf %s "$line" > model; answer '{}' ;;
    *'"method":"session/prompt"'*) n=$((n + 1)); prompt=$id; eval "$1" ;;
    *'"method":"session/cancel"'*) touch cancelled; id=$prompt; answer '{"stopReason":"cancelled"}' ;;
    *'"outcome"'*) id=$prompt; printf %s "$line" > answered; text "I was not let."; done_ ;;
  esac
done
touch hung-up
"#;

fn run(sandbox: &Sandbox, does: &str, words: &[&str]) -> Outcome {
    sandbox.write("agent.sh", AGENT);
    let agent = format!("acp:sh agent.sh '{does}'");
    sandbox.run_with(&[&["--agent", &agent], words].concat())
}

fn count(sandbox: &Sandbox, kind: &str) -> usize {
    sandbox.events(kind).len()
}

#[test]
fn a_bad_report_is_corrected_in_the_same_process() {
    for mode in ["csv-wave", "interactive"] {
        let sandbox = Sandbox::new().tasks(&format!("id,exec_mode\na,{mode}"));
        run(
            &sandbox,
            r#"if [ $n = 1 ]; then text "All good."; else text "$report"; fi; done_"#,
            &[],
        )
        .expect_exit(0);
        assert_eq!(sandbox.cell("a", "findings"), "told");
        let seen = ["spawned", "sent_back", "usage", "conversing"].map(|kind| count(&sandbox, kind));
        assert_eq!(seen, [1, 1, 2, 1], "{}", sandbox.read("journal.ndjson"));
        sandbox.expect_read("prompts/a.1.2.md", "is prose and not a JSON object");
        sandbox.expect_no_processes();
    }
}

#[test]
fn every_kind_of_bad_report_has_its_own_message() {
    for (report, why) in [
        ("", "the report is empty"),
        ("{}", "the report is an empty object"),
        ("done", "is prose and not a JSON object"),
        (
            r#"{\"id\":\"b\",\"status\":\"completed\"}"#,
            "the report is for task `b`",
        ),
    ] {
        let sandbox = Sandbox::new().tasks("id\na");
        let quoted = report.replace('\\', r"\\").replace('"', "\\\"");
        run(&sandbox, &format!("text \"{quoted}\"; done_"), &[]).expect_exit(1);
        let error = sandbox.cell("a", "error");
        assert!(
            error.starts_with("The report was not valid after 2 corrections: "),
            "{error}"
        );
        assert!(error.contains(why), "{report}: {error}");
        assert_eq!((count(&sandbox, "spawned"), count(&sandbox, "sent_back")), (1, 2));
    }
}

#[test]
fn settings_add_the_model_and_arguments() {
    let sandbox = Sandbox::new().tasks("id\na");
    let settings = "[agents.acp]\nmodel = \"m-9\"\nargs = [\"two words\"]\n";
    sandbox.write("wavecrew.toml", settings);
    run(&sandbox, r#"printf %s "$2" > words; text "$report"; done_"#, &[]).expect_exit(0);
    let read = |name| sandbox.text(name);
    assert_eq!(read("words"), "two words");
    assert!(read("model").contains(r#""modelId":"m-9""#), "{}", read("model"));
}

#[test]
fn forbidden_actions_are_denied() {
    let ask = r#"say "\"id\":77,\"method\":\"session/request_permission\",\"params\":{\"options\":[{\"optionId\":\"y\",\"kind\":\"allow_once\"},{\"optionId\":\"x\",\"kind\":\"reject_once\"}],\"toolCall\":{\"toolCallId\":\"t\",\"kind\":\"edit\",\"locations\":[{\"path\":\"/etc/passwd\"}]}}""#;
    let sandbox = Sandbox::new().tasks("id\na");
    run(&sandbox, ask, &[]).expect_exit(1);
    let answered = sandbox.text("answered");
    assert!(answered.contains(r#""optionId":"x""#), "{answered}");
    sandbox.expect_read("journal.ndjson", r#""stop":"permission_blocked""#);
}

#[test]
fn a_turn_that_takes_too_long_is_cancelled_before_it_is_ended() {
    let sandbox = Sandbox::new().tasks("id\na");
    run(&sandbox, ":", &["--timeout", "1"]).expect_exit(1);
    assert!(sandbox.cell("a", "error").starts_with("Timed out"));
    assert!(sandbox.path("cancelled").exists());
    sandbox.expect_no_processes();
}

#[test]
fn an_agent_that_dies_or_is_missing_fails_its_task() {
    let sandbox = Sandbox::new().tasks("id\na");
    run(&sandbox, "echo broken >&2; exit 3", &[]).expect_exit(1);
    sandbox.expect_cell("a", "error", "crashed");
    sandbox.expect_cell("a", "error", "broken");

    let sandbox = Sandbox::new().tasks("id\na");
    sandbox
        .run_with(&["--agent", "acp:no-such-agent --acp"])
        .expect_exit(2)
        .expect_output("the program `no-such-agent` of the agent `acp:no-such-agent --acp` is not on PATH");
}

#[test]
fn an_interrupted_attempt_resumes_its_session() {
    // Confined or in a namespace, a worker could not end the guardian.
    let sandbox = Sandbox::new()
        .tasks("id\na")
        .file("wavecrew.toml", "sandbox = \"off\"\n")
        .env("WAVECREW_SANDBOX_SUPPORT", "processes=0");
    // The guardian is its parent; with it the run ends. The brackets keep the search from finding itself in the journal.
    let does = r#"if [ -e once ]; then text "$report"; done_; else touch once
        until grep -q conversin[g] .workflow/.csv-wave/*/journal.ndjson; do sleep 0.05; done; kill -9 $PPID; fi"#;
    run(&sandbox, does, &[]).expect_exit(5);
    let agent = format!("acp:sh agent.sh '{does}'");
    sandbox.resume_with(&["-y", "--agent", &agent]).expect_exit(0);
    assert_eq!(sandbox.cell("a", "findings"), "told");
    assert!(sandbox.path("loaded").exists());
    let journal = sandbox.read("journal.ndjson");
    assert_eq!(journal.matches(r#""conversation":"s-1""#).count(), 2, "{journal}");
}
