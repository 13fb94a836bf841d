//! `doctor`: what this machine can enforce and run, and what to do about the rest.

use crate::agent_choice::search_path;
use crate::exit::{Exit, Failure};
use crate::global::Global;
use crate::json;
use crate::launch;
use crate::layout::fit;
use rustix::process::{Resource, getrlimit};
use serde_json::{Value, json};
use std::io::{Write, stdout};
use wavecrew_agents::cli;
use wavecrew_process::guardian::{Containment, Guardian, USER_NAMESPACE};
use wavecrew_process::sandbox::{LandlockAbi, Support};
use wavecrew_run::installed::{Login, find, find_program, login, version};

/// Show what this machine supports: sandbox, agents, git, test frameworks, disk, limits
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  wavecrew doctor\n  wavecrew doctor --json")]
pub struct Args {}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// Something is missing, and wavecrew works without it.
    Less,
    /// Runs fail or are at risk.
    Bad,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Less => "note",
            Self::Bad => "bad",
        }
    }
}

struct Finding {
    area: &'static str,
    name: String,
    state: State,
    detail: String,
    /// What to do about it.
    help: Option<String>,
}

impl Finding {
    fn good(area: &'static str, name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            area,
            name: name.into(),
            state: State::Good,
            detail: detail.into(),
            help: None,
        }
    }

    fn not(
        area: &'static str,
        name: impl Into<String>,
        state: State,
        detail: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self {
            state,
            help: Some(help.into()),
            ..Self::good(area, name, detail)
        }
    }

    fn json(&self) -> Value {
        json!({
            "area": self.area,
            "name": self.name,
            "state": self.state.as_str(),
            "detail": self.detail,
            "help": self.help,
        })
    }
}

/// The minimum free space for a run with worktrees.
const LITTLE_SPACE: u64 = 2 << 30;
/// Each worker uses a few descriptors.
const FEW_FILES: u64 = 1024;

impl Args {
    #[expect(clippy::unused_self, reason = "every verb has this form")]
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let mut findings = sandbox();
        findings.extend(agents());
        findings.extend(programs());
        findings.extend(machine());
        let bad = findings.iter().any(|finding| finding.state == State::Bad);
        if global.json {
            let findings: Vec<Value> = findings.iter().map(Finding::json).collect();
            json::print_pretty(json!({ "findings": findings }))?;
        } else {
            print(&findings).map_err(Failure::Output)?;
        }
        Ok(if bad { Exit::TasksFailed } else { Exit::Done })
    }
}

fn print(findings: &[Finding]) -> std::io::Result<()> {
    let mut out = stdout().lock();
    let mut area = "";
    for finding in findings {
        if finding.area != area {
            area = finding.area;
            writeln!(out, "{area}")?;
        }
        let state = finding.state.as_str();
        writeln!(
            out,
            "  {}  {}  {}",
            fit(state, 4),
            fit(&finding.name, 22),
            finding.detail
        )?;
        if let Some(help) = &finding.help {
            writeln!(out, "        {help}")?;
        }
    }
    Ok(())
}

fn sandbox() -> Vec<Finding> {
    const AREA: &str = "Sandbox";
    let support = Support::detect();
    let LandlockAbi(abi) = support.landlock;
    let kernel = rustix::system::uname();
    let kernel = kernel.release().to_string_lossy().into_owned();
    let upgrade = |linux: &str| format!("upgrade Linux to {linux} or newer (this is {kernel})");
    let part = |needed: u32, name: &str, what: &str, linux: &str| {
        if abi >= needed {
            Finding::good(AREA, name, what)
        } else {
            let state = if needed <= 3 { State::Bad } else { State::Less };
            Finding::not(AREA, name, state, format!("missing: {what}"), upgrade(linux))
        }
    };
    let mut found = if abi == 0 {
        let help = "enable Landlock: add `landlock` to the kernel parameter `lsm=`, or upgrade Linux to 5.13 or newer";
        vec![Finding::not(
            AREA,
            "files",
            State::Bad,
            "this kernel has no Landlock",
            help,
        )]
    } else {
        vec![
            part(
                3,
                "files",
                "each role writes only what it may, and reads no credentials",
                "6.2",
            ),
            part(4, "network", "TCP ports by role", "6.7"),
            part(6, "processes", "workers cannot signal or inspect others", "6.12"),
        ]
    };
    found.push(if support.mounts {
        Finding::good(AREA, "mounts", "protects files inside writable folders; blocks chmod and service sockets")
    } else {
        let help = "allow user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns), or use `--isolation worktree` for roles that write the project";
        Finding::not(AREA, "mounts", State::Less, "this user cannot make mount namespaces", help)
    });
    found.push(if support.seccomp {
        Finding::good(
            AREA,
            "system calls",
            "namespaces, mounts, ptrace, bpf and others are refused",
        )
    } else {
        let help = "use a kernel with CONFIG_SECCOMP_FILTER";
        Finding::not(
            AREA,
            "system calls",
            State::Bad,
            "this kernel has no seccomp filters",
            help,
        )
    });
    found.push(containment(AREA, support));
    found
}

/// Whether workers end with the run, however it ends.
fn containment(area: &'static str, support: Support) -> Finding {
    const NAME: &str = "ends with the run";
    let tried = launch::own_commands()
        .map_err(|failure| failure.to_string())
        .and_then(|(mut guardian, _)| {
            if support.needs_user_namespace() {
                guardian.args.push(USER_NAMESPACE.into());
            }
            Guardian::try_containment(guardian).map_err(|error| error.to_string())
        });
    match tried {
        Ok(Containment::Namespace) => Finding::good(
            area,
            NAME,
            "workers live in a PID namespace, which the kernel ends with the run",
        ),
        Ok(Containment::None) => {
            let detail =
                "hidden processes of workers may survive if wavecrew and its guardian are killed at once";
            let help = "allow PID namespaces: run as root, or set kernel.unprivileged_userns_clone=1 and \
                 kernel.apparmor_restrict_unprivileged_userns=0 with sysctl";
            Finding::not(area, NAME, State::Less, detail, help)
        }
        Err(error) => Finding::not(area, NAME, State::Bad, error, "install wavecrew again"),
    }
}

fn agents() -> Vec<Finding> {
    const AREA: &str = "Agents";
    let path = search_path();
    let found = cli::ALL.iter().map(|cli| {
        let facts = cli.facts();
        match find(*cli, &path) {
            None => Finding::not(
                AREA,
                facts.name,
                State::Less,
                "not installed",
                facts.how_to_install,
            ),
            Some(program) => match login(*cli, |name| std::env::var_os(name)) {
                Login::NotFound => {
                    let detail = format!("{}, no login found", program.display());
                    Finding::not(AREA, facts.name, State::Less, detail, facts.how_to_log_in)
                }
                Login::Variable(_) | Login::File(_) => {
                    Finding::good(AREA, facts.name, program.display().to_string())
                }
            },
        }
    });
    found.collect()
}

/// Programs that wavecrew runs, and why.
const PROGRAMS: [(&str, &str, &str); 6] = [
    ("git", "worktrees, changes, checks of commits", "install git"),
    (
        "python3",
        "tests of Python projects, the offline agent",
        "install python3",
    ),
    (
        "pytest",
        "tests of Python projects",
        "pip install pytest coverage, in the project's environment",
    ),
    (
        "node",
        "tests of JavaScript and TypeScript projects",
        "install Node.js",
    ),
    ("npx", "vitest and jest", "install npm"),
    ("cargo", "tests of Rust projects", "install Rust"),
];

fn programs() -> Vec<Finding> {
    const AREA: &str = "Programs";
    let path = search_path();
    let found = PROGRAMS.iter().map(|(name, why, help)| {
        if let Some(program) = find_program(name, &path) {
            let version = version(&program).unwrap_or_else(|reason| format!("found; {reason}"));
            Finding::good(AREA, *name, crate::show::safe(&version))
        } else {
            let state = if *name == "git" { State::Bad } else { State::Less };
            Finding::not(AREA, *name, state, format!("not found: {why}"), *help)
        }
    });
    found.collect()
}

fn machine() -> Vec<Finding> {
    const AREA: &str = "Machine";
    let mut found = Vec::new();
    for (name, folder) in [
        ("disk, project", ".".into()),
        ("disk, temporary", std::env::temp_dir()),
    ] {
        let Ok(space) = rustix::fs::statvfs(&folder) else {
            continue;
        };
        let free = space.f_bavail.saturating_mul(space.f_frsize);
        let detail = format!("{}.{} GB free", free / 1_000_000_000, free / 100_000_000 % 10);
        found.push(if free < LITTLE_SPACE {
            Finding::not(
                AREA,
                name,
                State::Bad,
                detail,
                "free some space: a full disk stops a run",
            )
        } else {
            Finding::good(AREA, name, detail)
        });
    }
    let files = getrlimit(Resource::Nofile).maximum;
    let detail = files.map_or_else(|| "unlimited".to_owned(), |files| format!("{files} open files"));
    found.push(if files.is_some_and(|files| files < FEW_FILES) {
        Finding::not(
            AREA,
            "open files",
            State::Less,
            detail,
            "raise the limit with `ulimit -n`",
        )
    } else {
        Finding::good(AREA, "open files", detail)
    });
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    found.push(Finding::good(AREA, "processors", processors.to_string()));
    found
}
