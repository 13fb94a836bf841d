//! Our entry in the settings of clients, as a person installs it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use wavecrew_test_support::sandbox::{Sandbox, program};

const CLIENTS: [(&str, &str); 5] = [
    ("codex", ".codex/config.toml"),
    ("claude", ".claude.json"),
    ("gemini", ".gemini/settings.json"),
    ("qwen", ".qwen/settings.json"),
    ("opencode", ".config/opencode/opencode.jsonc"),
];

/// A project that is also the home folder.
fn home() -> Sandbox {
    let sandbox = Sandbox::new().without_inherited_env();
    let home = sandbox.project().to_owned();
    sandbox.env("HOME", home)
}

#[test]
fn nothing_is_written_without_confirmation() {
    for (client, file) in CLIENTS {
        let home = home();
        let diff = home.wavecrew(&format!("mcp install {client} --print")).ok();
        let path = home.path(file);
        assert!(diff.contains(&format!("+++ {}", path.display())), "{diff}");
        let asked = home.wavecrew(&format!("mcp install {client}"));
        let asked = asked.expect_exit(2).expect_output("give -y");
        assert_eq!(asked.stdout, diff);
        assert!(!path.exists());
    }
}

#[test]
fn installing_twice_changes_nothing() {
    for (client, file) in CLIENTS {
        let home = home();
        home.wavecrew(&format!("mcp install {client} -y")).expect_exit(0);
        let once = home.text(file);
        let program = program().display().to_string();
        assert!(once.contains(&program) && once.contains("86400"), "{once}");
        // Nothing is left to ask about.
        let again = home.wavecrew(&format!("mcp install {client}"));
        assert_eq!(
            again.stdout,
            format!("{} is up to date\n", home.path(file).display())
        );
        assert_eq!(home.text(file), once);
        home.wavecrew(&format!("mcp uninstall {client} -y"))
            .expect_exit(0);
        assert!(!home.text(file).contains("wavecrew"));
    }
}

#[test]
fn a_settings_file_keeps_its_link_mode_and_comments() {
    let home = home().file("dotfiles.json", "{\n    // mine\n    \"theme\": \"dark\",\n}\n");
    let (real, link) = (home.path("dotfiles.json"), home.path(".gemini/settings.json"));
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(home.path(".gemini")).unwrap();
    symlink(&real, &link).unwrap();
    let done = home.wavecrew("mcp install gemini -y --agent command:sh --json");
    assert_eq!(done.json()["files"][0]["changed"], true);
    assert!(link.is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    let after = home.text("dotfiles.json");
    assert!(
        after.starts_with("{\n    // mine\n    \"theme\": \"dark\",\n"),
        "{after}"
    );
    assert!(after.contains(r#"["mcp", "--agent", "command:sh"]"#), "{after}");
}

#[test]
fn broken_settings_are_not_changed() {
    let home = home().file(".claude.json", "{\"a\": ");
    home.wavecrew("mcp install claude -y")
        .expect_exit(2)
        .expect_output("cannot be changed");
    assert_eq!(home.text(".claude.json"), "{\"a\": ");
}

#[test]
fn clients_in_other_folders_are_found() {
    for (client, variable, file) in [
        ("codex", "CODEX_HOME", "config.toml"),
        ("claude", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("qwen", "QWEN_HOME", "settings.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.jsonc"),
    ] {
        let home = home();
        let other = home.path("other");
        let home = home.env(variable, &other);
        home.wavecrew(&format!("mcp install {client} -y")).expect_exit(0);
        assert!(other.join(file).exists(), "{client}");
    }
}

#[test]
fn skills_are_installed_and_uninstalled() {
    let home = home();
    for (client, folder) in [("claude", ".claude/skills"), ("codex", ".codex/skills")] {
        let skills = |words: &str| home.wavecrew(&format!("skills {}", words.replace("CLIENT", client)));
        skills("install CLIENT")
            .expect_exit(2)
            .expect_output("+name: wavecrew-testing");
        assert!(!home.path(folder).exists());
        skills("install CLIENT -y").expect_exit(0);
        for team in ["testing", "lifecycle", "planex"] {
            let skill = home.text(format!("{folder}/wavecrew-{team}/SKILL.md"));
            assert!(
                skill.contains("team_plan") && skill.contains("team_answer"),
                "{skill}"
            );
        }
        skills("install CLIENT").expect_exit(0);
        // A skill that a person changed is shown before it goes.
        home.write(format!("{folder}/wavecrew-planex/SKILL.md"), "mine\n");
        skills("uninstall CLIENT --print").expect_output("-mine");
        skills("uninstall CLIENT -y").expect_exit(0);
        assert!(!home.path(folder).join("wavecrew-testing").exists());
        skills("uninstall CLIENT").expect_exit(0);
    }
}
