//! A repository whose settings name a program in every setting that can. Plain git runs the program, ours
//! does not.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::{git_command, git_output};
use crate::sandbox::{LandlockAbi, Support};

/// The settings with programs, how the test calls them, and a command of git that runs them.
const PLANTED: &[(&str, &[&str], &[&str])] = &[
    ("clean", &["filter.a.clean"], &["add", "file.txt"]),
    (
        "smudge",
        &["filter.a.smudge"],
        &["checkout", "-f", "-q", "other", "--"],
    ),
    ("process", &["filter.a.process"], &["add", "file.txt"]),
    ("fsmonitor", &["core.fsmonitor"], &["status", "--porcelain"]),
    ("external diff", &["diff.external"], &["diff", "HEAD"]),
    ("diff command", &["diff.d.command"], &["diff", "HEAD"]),
    ("textconv", &["diff.d.textconv"], &["diff", "HEAD"]),
    ("textconv of a commit", &["diff.d.textconv"], &["show", "HEAD"]),
    (
        "merge driver",
        &["merge.m.driver"],
        &["merge", "-q", "--no-edit", "other"],
    ),
    ("editor", &["core.editor"], &["commit", "--allow-empty"]),
    (
        "signature",
        &["gpg.program"],
        &["commit", "--allow-empty", "-m", "x"],
    ),
    ("shown signature", &["gpg.program"], &["log", "-1"]),
    ("alias", &["alias.st"], &["st"]),
];

struct Repository {
    folder: TempDir,
}

impl Repository {
    fn new() -> Self {
        let repository = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(repository.path()).unwrap();
        let attributes = "*.txt filter=a diff=d merge=m\n";
        repository.write("file.txt", "one\n");
        repository.write(".gitattributes", attributes);
        repository.plain(&["init", "-q", "-b", "main"]);
        for (name, value) in [("user.name", "x"), ("user.email", "x@y")] {
            repository.plain(&["config", name, value]);
        }
        repository.plain(&["add", "-A"]);
        repository.plain(&["commit", "-q", "-m", "one"]);
        repository.plain(&["checkout", "-q", "-b", "other"]);
        repository.write("file.txt", "other\n");
        repository.plain(&["commit", "-q", "-a", "-m", "other"]);
        repository.plain(&["checkout", "-q", "main"]);
        repository.write("file.txt", "two\n");
        repository.plain(&["commit", "-q", "-a", "-m", "two"]);
        let program = repository.program();
        let marker = repository.marker();
        fs::write(&program, format!("#!/bin/sh\ntouch {}\n", marker.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        repository
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("program")
    }

    fn marker(&self) -> PathBuf {
        self.folder.path().join("ran")
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    fn plain(&self, words: &[&str]) {
        let mut command = Command::new("git");
        command.current_dir(self.path()).args(words);
        self.run(&mut command);
    }

    fn hardened(&self, words: &[&str]) {
        self.run(&mut git_command(&self.path(), words));
    }

    fn run(&self, command: &mut Command) {
        command
            .env("HOME", self.folder.path())
            .env("GIT_CONFIG_NOSYSTEM", "1");
        // A failing program may fail the command: the test only checks whether it ran.
        command.output().unwrap();
    }

    /// The settings that a worker writes, by their names in git.
    fn plant(&self, names: &[&str]) {
        let program = self.program();
        let program = program.to_str().unwrap();
        for name in names {
            let value = if name.starts_with("alias.") {
                format!("!{program} < /dev/null")
            } else {
                format!("{program} < /dev/null")
            };
            self.plain(&["config", name, &value]);
        }
        // Signed commits and verified signatures need further settings.
        if names.contains(&"gpg.program") {
            self.plain(&["config", "gpg.program", program]);
            self.plain(&["config", "commit.gpgsign", "true"]);
            self.plain(&["config", "log.showSignature", "true"]);
            let commit = "tree $(git rev-parse HEAD^{tree})\nparent $(git rev-parse HEAD)\nauthor x <x@y> 1 +0000\ncommitter x <x@y> 1 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n";
            let script = format!(
                "git update-ref HEAD $(printf '%s' \"{commit}\" | git hash-object -t commit -w --stdin)"
            );
            let mut command = Command::new("sh");
            self.run(command.current_dir(self.path()).args(["-c", &script]));
        }
    }

    fn ran(&self) -> bool {
        fs::remove_file(self.marker()).is_ok()
    }
}

/// Whether plain git, and whether ours, ran the program of these settings.
fn ran(planted: impl Fn(&Repository), words: &[&str]) -> [bool; 2] {
    let run: [fn(&Repository, &[&str]); 2] = [Repository::plain, Repository::hardened];
    run.map(|run| {
        let repository = Repository::new();
        planted(&repository);
        repository.write("file.txt", "three\n");
        if words[0] == "merge" || words[0] == "checkout" {
            let mut command = git_command(&repository.path(), &["reset", "-q", "--hard"]);
            repository.run(&mut command);
        }
        repository.ran();
        run(&repository, words);
        repository.ran()
    })
}

#[test]
fn no_setting_of_a_repository_starts_a_program() {
    for (name, settings, words) in PLANTED {
        let [plain, ours] = ran(|repository| repository.plant(settings), words);
        assert!(plain, "{name}: the test plants nothing that git runs");
        assert!(!ours || *name == "alias", "{name}: it ran");
    }
}

#[test]
fn included_settings_count_as_the_repositorys() {
    for condition in ["include.path", "includeIf.gitdir:**/.path"] {
        let plant = |repository: &Repository| {
            let program = repository.program();
            let text = format!("[filter \"a\"]\n\tclean = {}\n", program.display());
            fs::write(repository.path().join(".git/more"), text).unwrap();
            repository.plain(&["config", condition, "more"]);
        };
        assert_eq!(ran(plant, &["add", "file.txt"]), [true, false], "{condition}");
    }
}

#[test]
fn no_hook_and_no_setting_of_a_worktree_starts_a_program() {
    let hook = |repository: &Repository| {
        for name in [
            "pre-commit",
            "post-commit",
            "post-checkout",
            "reference-transaction",
        ] {
            let path = repository.path().join(".git/hooks").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::copy(repository.program(), &path).unwrap();
        }
    };
    let commit = ["commit", "-q", "--allow-empty", "-m", "x"];
    assert_eq!(ran(hook, &commit), [true, false]);
    let worktree = |repository: &Repository| {
        repository.plain(&["config", "extensions.worktreeConfig", "true"]);
        let program = repository.program();
        let program = program.to_str().unwrap();
        repository.plain(&["config", "--worktree", "filter.a.clean", program]);
    };
    assert_eq!(ran(worktree, &["add", "file.txt"]), [true, false]);
}

#[test]
fn nothing_is_fetched() {
    let promisor = |repository: &Repository| {
        let program = repository.program();
        let url = format!("ext::{}", program.display());
        for (name, value) in [
            ("remote.evil.url", url.as_str()),
            ("protocol.ext.allow", "always"),
            ("submodule.recurse", "true"),
        ] {
            repository.plain(&["config", name, value]);
        }
    };
    assert_eq!(ran(promisor, &["fetch", "evil"]), [true, false]);
    let local = |repository: &Repository| {
        let there = repository.path();
        repository.plain(&["config", "remote.evil.url", there.to_str().unwrap()]);
        let program = repository.program();
        repository.plain(&["config", "remote.evil.uploadpack", program.to_str().unwrap()]);
    };
    assert_eq!(ran(local, &["fetch", "evil"]), [true, false]);
}

#[test]
fn a_submodule_is_not_updated_by_a_command() {
    let plant = |repository: &Repository| {
        let library = Repository::new();
        let url = library.path();
        let url = url.to_str().unwrap();
        let add = [
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "-q",
            "add",
            url,
            "lib",
        ];
        repository.plain(&add);
        repository.plain(&["commit", "-q", "-m", "with a library"]);
        let program = repository.program();
        let command = format!("!{}", program.display());
        repository.plain(&["config", "submodule.lib.update", &command]);
        let inside = repository.path().join("lib");
        repository.run(git_command(&inside, &["checkout", "-q", "HEAD^"]).current_dir(&inside));
    };
    let update = ["submodule", "-q", "update", "lib"];
    let [plain, _] = ran(plant, &update);
    assert!(plain, "the test plants nothing that git runs");
    let [_, ours] = ran(plant, &["submodule", "-q", "update", "--checkout", "lib"]);
    assert!(!ours);
}

#[test]
fn the_persons_own_filters_stay() {
    let repository = Repository::new();
    let program = repository.program();
    let global = format!("[filter \"a\"]\n\tclean = {}\n", program.display());
    fs::write(repository.folder.path().join(".gitconfig"), global).unwrap();
    repository.write("file.txt", "three\n");
    repository.hardened(&["add", "file.txt"]);
    assert!(repository.ran());
}

#[test]
fn git_and_what_it_starts_change_nothing_but_the_checkout() {
    if Support::detect().landlock < LandlockAbi(3) {
        eprintln!("not checked: the kernel has no Landlock");
        return;
    }
    let repository = Repository::new();
    let (program, marker) = (repository.program(), repository.marker());
    let script = format!("#!/bin/sh\ntouch inside\ntouch {}\ncat\n", marker.display());
    fs::write(&program, script).unwrap();
    let global = format!("[filter \"a\"]\n\tclean = {}\n", program.display());
    fs::write(repository.folder.path().join(".gitconfig"), global).unwrap();
    repository.write("file.txt", "three\n");
    let mut command = git_command(&repository.path(), &["add", "file.txt"]);
    command
        .env("HOME", repository.folder.path())
        .env("GIT_CONFIG_NOSYSTEM", "1");
    let output = git_output(command).unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(
        repository.path().join("inside").exists(),
        "the filter did not run"
    );
    assert!(!repository.ran());
}

#[test]
fn the_command_is_found_after_options() {
    let command = git_command(Path::new("/"), &["-c", "a.b=c", "diff", "HEAD"]);
    let words: Vec<&str> = command.get_args().filter_map(|word| word.to_str()).collect();
    let own = &words[words.len() - 6..];
    assert_eq!(
        own,
        ["-c", "a.b=c", "diff", "--no-ext-diff", "--no-textconv", "HEAD"]
    );
}
