//! Programs that this process starts on files of workers: test frameworks, builds, generated tests. Each may
//! change the places that its caller names, and nothing else. The rules for all of them come from the run, in
//! an environment variable.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::{env, thread};

use serde::{Deserialize, Serialize};

use super::places::{DEVICES, all_but, credentials, entries, services, tool_caches};
use super::{Confinement, Network, Support};

/// Passes the rules of a run on to the processes of this program that it starts.
pub const RULES_VARIABLE: &str = "WAVECREW_PROGRAM_RULES";

/// Read-only although below a writable folder: the repository, the sessions, and the settings of wavecrew.
const PROTECTED: [&str; 4] = [".git", ".workflow", ".wavecrew", "wavecrew.toml"];

static RULES: OnceLock<ProgramRules> = OnceLock::new();

/// The rules for every program of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramRules {
    /// No confinement: they may do whatever the user may.
    #[serde(default)]
    pub off: bool,
    /// Places that none of them reads.
    #[serde(default)]
    pub deny: Vec<PathBuf>,
    /// Places that all of them may change.
    #[serde(default)]
    pub write: Vec<PathBuf>,
    #[serde(default)]
    pub network: Network,
}

impl ProgramRules {
    /// The rules for a process that no run started: it cannot read credentials.
    fn of_machine() -> Self {
        Self {
            deny: credentials(&home()),
            ..Self::default()
        }
    }

    /// The variable that passes these rules on.
    pub fn variable(&self) -> (&'static str, String) {
        (RULES_VARIABLE, serde_json::to_string(self).unwrap_or_default())
    }

    /// Uses these rules for the programs of this process from now on. The first call decides.
    pub fn apply(self) {
        let _ = RULES.set(self);
    }

    /// The rules of this process: those that were set, those of the run that started it, or the defaults of
    /// the machine.
    pub fn current() -> &'static Self {
        RULES.get_or_init(|| {
            let given = env::var(RULES_VARIABLE).ok();
            let given = given.and_then(|text| serde_json::from_str(&text).ok());
            given.unwrap_or_else(Self::of_machine)
        })
    }

    /// The confinement of one program; `None` if there is none.
    pub fn confinement(&self, support: Support, own: &[&Path]) -> Option<Confinement> {
        if self.off || !support.any() {
            return None;
        }
        let existing = |path: &Path| path.canonicalize().ok();
        let own: Vec<PathBuf> = own.iter().filter_map(|path| existing(path)).collect();
        let protected = own
            .iter()
            .flat_map(|folder| PROTECTED.map(|name| folder.join(name)));
        let protect = protected
            .filter(|path| path.exists() && !self.write.iter().any(|allowed| path.starts_with(allowed)))
            .collect();
        let mut write: Vec<PathBuf> = DEVICES.iter().map(PathBuf::from).collect();
        write.extend(tool_caches(&home()));
        write.extend(own);
        write.extend(self.write.iter().filter_map(|path| existing(path)));
        let mut hide = services();
        hide.extend(self.deny.iter().cloned());
        hide.retain(|path| support.mounts && path.exists());
        let read = all_but(Path::new("/"), &self.deny, &entries);
        Some(Confinement {
            support,
            read,
            write,
            protect,
            hide,
            show: Vec::new(),
            network: self.network.clone(),
            edition: 0,
        })
    }
}

/// Starts a program that may change only these places, which have to exist, and what all programs of the run may change.
/// Everything that it starts is confined too.
pub fn spawn_confined(command: &mut Command, places: &[&Path]) -> io::Result<Child> {
    let rules = ProgramRules::current();
    spawn(command, rules.confinement(current_support(rules), places))
}

/// The same without mounts.
pub(crate) fn spawn_confined_by_landlock(command: &mut Command, places: &[PathBuf]) -> io::Result<Child> {
    let rules = ProgramRules::current();
    let support = Support {
        mounts: false,
        ..current_support(rules)
    };
    let places: Vec<&Path> = places.iter().map(PathBuf::as_path).collect();
    spawn(command, rules.confinement(support, &places))
}

fn current_support(rules: &ProgramRules) -> Support {
    static SUPPORT: OnceLock<Support> = OnceLock::new();
    if rules.off {
        Support::default()
    } else {
        *SUPPORT.get_or_init(Support::detect)
    }
}

fn spawn(command: &mut Command, confinement: Option<Confinement>) -> io::Result<Child> {
    let Some(confinement) = confinement else {
        return command.spawn();
    };
    // Only this thread is confined, for its whole life; its child inherits the confinement and outlives the
    // thread.
    thread::scope(|scope| {
        let confined = scope.spawn(|| {
            confinement.enter()?.restrict_thread()?;
            command.spawn()
        });
        confined
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the program could not be confined")))
    })
}

/// The user's home folder, without links; that of root if there is no `HOME`.
pub fn home() -> PathBuf {
    let home = env::var_os("HOME").filter(|home| !home.is_empty());
    let home = home.map_or_else(|| PathBuf::from("/root"), PathBuf::from);
    home.canonicalize().unwrap_or(home)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Stdio;

    fn exit_code(rules: &ProgramRules, places: &[&Path], folder: &Path, script: &str) -> Option<i32> {
        let confinement = rules.confinement(Support::detect(), places).unwrap();
        run_confined(&confinement, folder, script)
    }

    fn run_confined(confinement: &Confinement, folder: &Path, script: &str) -> Option<i32> {
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .current_dir(folder)
            .stderr(Stdio::null());
        thread::scope(|scope| {
            let child = scope.spawn(|| {
                confinement.enter().unwrap().restrict_thread().unwrap();
                command.spawn().unwrap()
            });
            child.join().unwrap().wait().unwrap().code()
        })
    }

    #[test]
    fn a_program_changes_its_own_places_only() {
        let support = Support::detect();
        if support.landlock < super::super::LandlockAbi(3) {
            eprintln!("not checked: the kernel has no Landlock");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        for name in ["own/.git", "other", "secret"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("file"), "text").unwrap();
        }
        let own = folder.path().join("own");
        let rules = ProgramRules {
            deny: vec![folder.path().join("secret")],
            ..ProgramRules::default()
        };
        let run = |script: &str| exit_code(&rules, &[&own], folder.path(), script);
        assert_eq!(run("echo x > own/new && cat other/file > /dev/null"), Some(0));
        assert_ne!(run("echo x > other/file"), Some(0));
        assert_ne!(run("cat secret/file"), Some(0));
        if support.mounts {
            assert_ne!(run("echo x > own/.git/file"), Some(0));
        }
        let rules = ProgramRules {
            write: vec![folder.path().join("other")],
            ..rules
        };
        let run = |script: &str| exit_code(&rules, &[&own], folder.path(), script);
        assert_eq!(run("echo x > other/file"), Some(0));
        assert!(
            ProgramRules { off: true, ..rules }
                .confinement(support, &[])
                .is_none()
        );
    }

    #[test]
    fn programs_that_share_their_rules_for_reading_keep_to_their_own_places() {
        let support = Support {
            mounts: false,
            ..Support::detect()
        };
        if support.landlock < super::super::LandlockAbi(3) {
            eprintln!("not checked: the kernel has no Landlock");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        let rules = ProgramRules {
            deny: vec![folder.path().join("secret")],
            ..ProgramRules::default()
        };
        let run = |own: &Path, script: &str| {
            let confinement = rules.confinement(support, &[own]).unwrap();
            run_confined(&confinement, folder.path(), script)
        };
        // The second time, all places are other folders with the same names.
        for _ in 0..2 {
            for name in ["one/in", "two", "secret"] {
                fs::create_dir_all(folder.path().join(name)).unwrap();
                fs::write(folder.path().join(name).join("file"), "text").unwrap();
            }
            for (own, other) in [(&one, "two"), (&two, "one")] {
                assert_eq!(run(own, "cat one/in/file two/file"), Some(0));
                assert_ne!(run(own, "cat secret/file"), Some(0));
                assert_ne!(run(own, &format!("touch {other}/new")), Some(0));
            }
            assert_eq!(
                run(&one, "touch one/new && mv one/in/file one/moved"),
                Some(0),
                "moves between folders"
            );
            for name in ["one", "two", "secret"] {
                fs::rename(
                    folder.path().join(name),
                    folder.path().join(format!("old-{name}")),
                )
                .unwrap();
                fs::remove_dir_all(folder.path().join(format!("old-{name}"))).unwrap();
            }
        }
    }

    #[test]
    fn rules_are_passed_on_by_a_variable() {
        let rules = ProgramRules {
            deny: vec!["/secret".into()],
            network: Network::Ports(vec![443]),
            ..ProgramRules::default()
        };
        let (name, text) = rules.variable();
        assert_eq!(name, RULES_VARIABLE);
        assert_eq!(serde_json::from_str::<ProgramRules>(&text).unwrap(), rules);
    }
}
