//! What a table costs over MCP, beside the same rows by `wavecrew run`: 200 rows with a worker that does nothing, from the
//! tool's call to its result. Run by hand: `cargo bench -p wavecrew --bench mcp`.

use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const WAVECREW: &str = env!("CARGO_BIN_EXE_wavecrew");
const ROWS: usize = 200;
const WORKERS: usize = 16;
const ROUNDS: usize = 5;
/// A call may take so much longer than the run.
const AT_MOST: f64 = 1.3;

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut table = String::from("id,description\n");
    for row in 0..ROWS {
        let _ = writeln!(table, "T{row},no-op");
    }
    fs::write(folder.path().join("tasks.csv"), table).expect("a table");
    let worker = folder.path().join("worker.sh");
    let report = r#"echo "{\"id\":\"$WAVECREW_TASK\",\"status\":\"completed\"}""#;
    fs::write(&worker, format!("#!/bin/sh\n{report}\n")).expect("a worker");
    fs::set_permissions(&worker, fs::Permissions::from_mode(0o755)).expect("a program");

    let mut server = Server::start(folder.path());
    // In turns, so that both meet the same machine; the best of each, so that a disturbed round does not count.
    let (mut run, mut call) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        run = run.min(timed(|| by_run(folder.path())));
        call = call.min(timed(|| server.table()));
    }
    let ratio = call.as_secs_f64() / run.as_secs_f64();
    println!("wavecrew run          {:8.1} ms", run.as_secs_f64() * 1000.0);
    println!("spawn_agents_on_csv   {:8.1} ms", call.as_secs_f64() * 1000.0);
    println!("ratio                 {ratio:8.2}     (at most {AT_MOST})");
}

fn timed(work: impl FnOnce()) -> Duration {
    let from = Instant::now();
    work();
    from.elapsed()
}

fn by_run(folder: &Path) {
    let status = Command::new(WAVECREW)
        .current_dir(folder)
        .args(["run", "tasks.csv", "-y", "-q", "--agent", "command:./worker.sh"])
        .args(["-c", &WORKERS.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("wavecrew runs");
    assert!(status.success(), "wavecrew failed: {status}");
}

/// A server with a client that has introduced itself.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(WAVECREW)
            .current_dir(folder)
            .args(["mcp", "--agent", "command:./worker.sh"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("wavecrew serves");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut server = Self {
            stdin: child.stdin.take(),
            stdout,
            child,
        };
        let client = json!({"name": "bench", "version": "0"});
        server.ask(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}),
        );
        server
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let stdin = self.stdin.as_mut().expect("open until the end");
        writeln!(stdin, "{message}").expect("the server listens");
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("the server answers");
        serde_json::from_str(&line).expect("JSON")
    }

    fn table(&mut self) {
        let arguments = json!({
            "csv_path": "tasks.csv", "instruction": "{description}", "id_column": "id", "max_workers": WORKERS,
        });
        let answer = self.ask(
            "tools/call",
            &json!({"name": "spawn_agents_on_csv", "arguments": arguments}),
        );
        let done = &answer["result"]["structuredContent"]["completed_items"];
        assert_eq!(*done, ROWS, "{answer}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}
