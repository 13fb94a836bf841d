//! Our entry in the settings of clients, as a person installs it.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

fn wavecrew(home: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wavecrew"));
    command.env_clear().env("HOME", home).args(words);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

const CLIENTS: [(&str, &str); 5] = [
    ("codex", ".codex/config.toml"),
    ("claude", ".claude.json"),
    ("gemini", ".gemini/settings.json"),
    ("qwen", ".qwen/settings.json"),
    ("opencode", ".config/opencode/opencode.jsonc"),
];

#[test]
fn nothing_is_written_without_a_word() {
    for (client, file) in CLIENTS {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(file);
        let shown = wavecrew(home.path(), &["mcp", "install", client, "--print"]);
        assert!(shown.status.success());
        let diff = text(&shown.stdout);
        assert!(diff.contains(&format!("+++ {}", path.display())), "{diff}");
        let asked = wavecrew(home.path(), &["mcp", "install", client]);
        assert_eq!(asked.status.code(), Some(2));
        assert_eq!(text(&asked.stdout), diff);
        assert!(text(&asked.stderr).contains("give -y"));
        assert!(!path.exists());
    }
}

#[test]
fn installing_twice_is_installing_once() {
    for (client, file) in CLIENTS {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(file);
        assert!(
            wavecrew(home.path(), &["mcp", "install", client, "-y"])
                .status
                .success()
        );
        let once = fs::read_to_string(&path).unwrap();
        assert!(
            once.contains(env!("CARGO_BIN_EXE_wavecrew")) && once.contains("86400"),
            "{once}"
        );
        // Nothing is left to ask about.
        let again = wavecrew(home.path(), &["mcp", "install", client]);
        assert_eq!(text(&again.stdout), format!("{} is up to date\n", path.display()));
        assert_eq!(fs::read_to_string(&path).unwrap(), once);
        assert!(
            wavecrew(home.path(), &["mcp", "uninstall", client, "-y"])
                .status
                .success()
        );
        assert!(!fs::read_to_string(&path).unwrap().contains("wavecrew"));
    }
}

#[test]
fn a_file_keeps_its_place_its_mode_and_its_words() {
    let home = tempfile::tempdir().unwrap();
    let real = home.path().join("dotfiles.json");
    fs::write(&real, "{\n    // mine\n    \"theme\": \"dark\",\n}\n").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(home.path().join(".gemini")).unwrap();
    let link = home.path().join(".gemini/settings.json");
    symlink(&real, &link).unwrap();
    let done = wavecrew(
        home.path(),
        &["mcp", "install", "gemini", "-y", "--agent", "command:x", "--json"],
    );
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(told["files"][0]["changed"], true);
    assert!(link.is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    let after = fs::read_to_string(&real).unwrap();
    assert!(
        after.starts_with("{\n    // mine\n    \"theme\": \"dark\",\n"),
        "{after}"
    );
    assert!(after.contains(r#"["mcp", "--agent", "command:x"]"#), "{after}");
}

#[test]
fn settings_that_are_broken_are_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".claude.json");
    fs::write(&path, "{\"a\": ").unwrap();
    let done = wavecrew(home.path(), &["mcp", "install", "claude", "-y"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(
        text(&done.stderr).contains("cannot be changed"),
        "{}",
        text(&done.stderr)
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\": ");
}

#[test]
fn clients_that_live_elsewhere_are_found_there() {
    let home = tempfile::tempdir().unwrap();
    let other = home.path().join("other");
    for (client, variable, file) in [
        ("codex", "CODEX_HOME", "config.toml"),
        ("claude", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("qwen", "QWEN_HOME", "settings.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.jsonc"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wavecrew"));
        command.env_clear().env("HOME", home.path()).env(variable, &other);
        assert!(
            command
                .args(["mcp", "install", client, "-y"])
                .status()
                .unwrap()
                .success()
        );
        assert!(other.join(file).exists(), "{client}");
    }
}

#[test]
fn skills_come_and_go() {
    let home = tempfile::tempdir().unwrap();
    for (client, folder) in [("claude", ".claude/skills"), ("codex", ".codex/skills")] {
        let shown = wavecrew(home.path(), &["skills", "install", client]);
        assert_eq!(shown.status.code(), Some(2));
        assert!(text(&shown.stdout).contains("+name: wavecrew-testing"));
        let skills = home.path().join(folder);
        assert!(!skills.exists());
        assert!(
            wavecrew(home.path(), &["skills", "install", client, "-y"])
                .status
                .success()
        );
        for team in ["testing", "lifecycle", "planex"] {
            let skill = fs::read_to_string(skills.join(format!("wavecrew-{team}/SKILL.md"))).unwrap();
            assert!(
                skill.contains("team_plan") && skill.contains("team_answer"),
                "{skill}"
            );
        }
        assert!(
            wavecrew(home.path(), &["skills", "install", client])
                .status
                .success()
        );
        // One that a person made their own is shown before it goes.
        fs::write(skills.join("wavecrew-planex/SKILL.md"), "mine\n").unwrap();
        let shown = wavecrew(home.path(), &["skills", "uninstall", client, "--print"]);
        assert!(text(&shown.stdout).contains("-mine"));
        assert!(
            wavecrew(home.path(), &["skills", "uninstall", client, "-y"])
                .status
                .success()
        );
        assert!(!skills.join("wavecrew-testing").exists());
        assert!(
            wavecrew(home.path(), &["skills", "uninstall", client])
                .status
                .success()
        );
    }
}
