//! What it costs to have wavecrew run codex: 50 one-shot tasks, eight at a time, beside the same 50 `codex exec` under
//! `xargs -P8`, all against the model service of the tests. Run by hand: `scripts/install-agents.sh`, then
//! `cargo bench -p wavecrew --bench agents`.

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use wavecrew_test_support::fake_model::FakeModel;
use wavecrew_test_support::fake_model::client::{installed, point};

const COUNT: usize = 50;
const ROUNDS: usize = 3;

fn main() {
    let Some(bin) = installed() else { return };
    let model = FakeModel::start().expect("the model service starts");
    // In turns, so that a busy machine slows down both.
    let (mut theirs, mut ours) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        theirs = theirs.min(xargs(&bin, &model));
        ours = ours.min(wavecrew(&bin, &model));
    }
    println!("{COUNT} x codex exec, xargs -P8  {:6.1} s", theirs.as_secs_f64());
    println!(
        "wavecrew run -c 8           {:6.1} s   {:.2}x (at most 1.15)",
        ours.as_secs_f64(),
        ours.as_secs_f64() / theirs.as_secs_f64()
    );
}

fn report(task: usize) -> String {
    format!(r#"@@final {{"id":"T{task}","status":"completed"}}"#)
}

/// A program with codex on its path, pointed at the service, in a folder with a home of its own.
fn prepared(program: &str, bin: &Path, model: &FakeModel, folder: &Path) -> Command {
    let home = folder.join("home");
    fs::create_dir(&home).expect("a folder");
    let path = std::env::var_os("PATH").expect("a path");
    let path = std::iter::once(bin.to_owned()).chain(std::env::split_paths(&path));
    let mut command = Command::new(program);
    command
        .envs(point("codex", &model.base("ok"), &home).expect("settings"))
        .env("HOME", &home)
        .env("PATH", std::env::join_paths(path).expect("a path"))
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn xargs(bin: &Path, model: &FakeModel) -> Duration {
    let folder = tempfile::tempdir().expect("a folder");
    let input = (0..COUNT).fold(String::new(), |text, task| text + &report(task) + "\n");
    let mut command = prepared("xargs", bin, model, folder.path());
    command.args([
        "-P8",
        "-d",
        "\\n",
        "-n1",
        "codex",
        "exec",
        "--json",
        "--skip-git-repo-check",
    ]);
    let start = Instant::now();
    let mut child = command.stdin(Stdio::piped()).spawn().expect("xargs runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("xargs reads");
    drop(stdin);
    let status = child.wait().expect("xargs ends");
    assert!(status.success(), "codex under xargs: {status}");
    start.elapsed()
}

fn wavecrew(bin: &Path, model: &FakeModel) -> Duration {
    let folder = tempfile::tempdir().expect("a folder");
    let mut table = String::from("id,description\n");
    for task in 0..COUNT {
        let _ = writeln!(table, "T{task},\"{}\"", report(task).replace('"', "\"\""));
    }
    fs::write(folder.path().join("tasks.csv"), table).expect("a table");
    let mut command = prepared(env!("CARGO_BIN_EXE_wavecrew"), bin, model, folder.path());
    command.args(["run", "tasks.csv", "-y", "-q", "-c", "8", "--agent", "codex"]);
    let start = Instant::now();
    let status = command.stdin(Stdio::null()).status().expect("wavecrew runs");
    assert!(status.success(), "wavecrew: {status}");
    start.elapsed()
}
