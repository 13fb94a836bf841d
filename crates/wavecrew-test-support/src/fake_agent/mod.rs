//! A scripted worker for tests. It does what its arguments say, word by word; without arguments, what the lines `@fake WORD...` of
//! its prompt say (`$WAVECREW_PROMPT_FILE`, else stdin), so that a task's description decides how its worker behaves.
//! Without any word that reports or ends, it reports success at the end.
//!
//! | reporting | |
//! | --- | --- |
//! | `noop` | a report of success on stdout, then the end: as cheap as a process can be |
//! | `report`, `report-file`, `report-command` | the report on stdout, in `$WAVECREW_RESULT_FILE`, through `$FAKE_WAVECREW report JSON` (or `wavecrew` of the PATH) |
//! | `fail=TEXT` | a report of failure on stdout |
//! | `invalid` | a report that no schema allows |
//! | `silent` | no report at the end |
//! | `status=S`, `text=T`, `findings=N`, `set=COLUMN:VALUE` | change the reports that follow; `findings` makes N characters |
//! | `as=TASK`, `token=T` | the reports that follow are for another task, or carry another token |
//!
//! | time and order | |
//! | --- | --- |
//! | `sleep=MS`, `hang` | wait a while, or for ever |
//! | `wait=PATH` | until the file exists |
//! | `tick` | until files that are written bear a later time than those written before |
//! | `write=PATH[:TEXT]` | write a file |
//! | `append=PATH` | one line `TASK ATTEMPT TURN` in one write, to count executions |
//! | `read` | read stdin to its end |
//! | `turn=N`, `attempt=N` | what follows, up to the next such word, only from the Nth on and before the next one's N |
//! | `usage=JSON` | what `$WAVECREW_USAGE_FILE` is to say, without spaces |
//! | `discover=TYPE:TEXT` | a line on the discovery board |
//! | `tag=T` | nothing; but seen in the process table, also of everything that is started |
//!
//! | misbehaviour | |
//! | --- | --- |
//! | `exit=N`, `signal=N` | end with a code, or by a signal |
//! | `ignore-term` | ignore SIGTERM from here on |
//! | `fork` | leave a child that hangs |
//! | `stubborn-fork` | leave a child that hangs and ignores SIGTERM, in a group of its own |
//! | `daemon` | leave a grandchild that hangs in a session of its own |
//! | `hidden-daemon` | the same with an empty environment, ignoring SIGTERM |
//! | `chain` | leave a process that starts its successor and ends, again and again, each in its own session |
//! | `bomb=N` | leave a process that starts N hanging children, one after the other |
//! | `print=N`, `print-error=N` | N bytes of text on stdout or stderr |
//! | `binary=N` | N bytes of garbage on stdout |
//! | `ansi` | colours, a screen clear and a window title on stdout |
//!
//! A word that leaves processes behind goes on when they are up.

mod breed;
mod report;
mod script;

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use report::Report;
use rustix::time::{ClockId, clock_gettime};
use script::Word;

/// Executes the arguments and returns how to end.
pub fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<String> = args.map(|a| a.to_string_lossy().into_owned()).collect();
    let result = match args.as_slice() {
        [only] if only == "noop" => Report::default().print().map(|()| ExitCode::SUCCESS),
        _ => script::load(args).and_then(|words| perform(&words)),
    };
    result.unwrap_or_else(|error| {
        eprintln!("fake agent: {error}");
        ExitCode::from(70)
    })
}

fn perform(words: &[Word]) -> io::Result<ExitCode> {
    let mut report = Report::default();
    let mut has_reported = false;
    for Word { name, value } in words {
        match name.as_str() {
            "noop" => return report.print().map(|()| ExitCode::SUCCESS),
            "report" => report.print()?,
            "report-file" => report.write_file()?,
            "report-command" => report.run_command()?,
            "fail" => report.failed(value).print()?,
            "invalid" => report::print_invalid()?,
            // What `tag` is for is done by being there.
            "silent" | "tag" => {}
            "status" => report.status.clone_from(value),
            "text" => report.findings.clone_from(value),
            "findings" => report.findings = "f".repeat(count(value)?),
            "set" => report.set(value)?,
            "as" => report.task.clone_from(value),
            "token" => report.token = Some(value.clone()),
            "sleep" => sleep(Duration::from_millis(count(value)? as u64)),
            "hang" => breed::hang(),
            "wait" => wait_for(Path::new(value)),
            "tick" => wait_for_tick(),
            "write" => write(value)?,
            "append" => append(Path::new(value), &execution())?,
            "read" => drop(io::stdin().read_to_end(&mut Vec::new())?),
            "usage" => fs::write(variable("WAVECREW_USAGE_FILE"), value)?,
            "discover" => discover(value)?,
            "exit" => return Ok(ExitCode::from(u8::try_from(count(value)?).unwrap_or(u8::MAX))),
            "signal" => breed::die(value)?,
            "ignore-term" => breed::ignore_term(words)?,
            "print" => text(io::stdout().lock(), count(value)?)?,
            "print-error" => text(io::stderr().lock(), count(value)?)?,
            "binary" => garbage(count(value)?)?,
            "ansi" => {
                io::stdout()
                    .write_all(b"\x1b[2J\x1b[31mred\x1b[0m\x1b]0;owned\x07\x1b[8mhidden\x1b[0m\r\x07\n")?;
            }
            "fork" | "stubborn-fork" | "daemon" | "hidden-daemon" | "chain" | "bomb" => {
                breed::leave(name, value, words)?;
            }
            other => return breed::part(other, value, words),
        }
        has_reported |= matches!(
            name.as_str(),
            "report" | "report-file" | "report-command" | "fail" | "invalid" | "silent"
        );
    }
    if !has_reported {
        report.print()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn count(value: &str) -> io::Result<usize> {
    value
        .parse()
        .map_err(|_| io::Error::other(format!("`{value}` is not a number")))
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn execution() -> String {
    let [task, attempt, turn] = ["WAVECREW_TASK", "WAVECREW_ATTEMPT", "WAVECREW_TURN"].map(variable);
    format!("{task} {attempt} {turn}\n")
}

/// Until files that are written bear a later time than those written before.
fn wait_for_tick() {
    let now = || clock_gettime(ClockId::RealtimeCoarse);
    let before = now();
    while now() == before {
        sleep(Duration::from_millis(1));
    }
}

fn wait_for(path: &Path) {
    while !path.exists() {
        sleep(Duration::from_millis(2));
    }
}

fn write(value: &str) -> io::Result<()> {
    let (path, text) = value.split_once(':').unwrap_or((value, ""));
    fs::write(path, text)
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)?
        .write_all(line.as_bytes())
}

fn discover(value: &str) -> io::Result<()> {
    let (kind, text) = value.split_once(':').unwrap_or((value, ""));
    let [kind, text, worker] = [kind, text, &variable("WAVECREW_TASK")].map(report::quoted);
    let line = format!(
        "{{\"ts\":\"2026-01-01T00:00:00Z\",\"worker\":{worker},\"type\":{kind},\"data\":{{\"text\":{text}}}}}\n"
    );
    append(
        &Path::new(&variable("WAVECREW_SESSION_DIR")).join("discoveries.ndjson"),
        &line,
    )
}

/// Lines of 80 bytes, the last one shorter.
fn text(mut out: impl Write, total: usize) -> io::Result<()> {
    let block = [[b'x'; 79].as_slice(), b"\n"].concat().repeat(1024);
    repeat(&mut out, &block, total)
}

/// All byte values, in an order that is no valid text.
fn garbage(total: usize) -> io::Result<()> {
    let block: Vec<u8> = (0..=255u8).rev().cycle().take(64 << 10).collect();
    repeat(&mut io::stdout().lock(), &block, total)
}

fn repeat(out: &mut impl Write, block: &[u8], mut total: usize) -> io::Result<()> {
    while total > 0 {
        let n = total.min(block.len());
        out.write_all(&block[..n])?;
        total -= n;
    }
    out.flush()
}
