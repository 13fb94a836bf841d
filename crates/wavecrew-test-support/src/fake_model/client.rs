//! Points agent command lines at this service, each in its own way and in a home folder of its own, so that nothing
//! of the user's is read or changed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Agents that can be pointed here.
pub const AGENTS: [&str; 5] = ["codex", "claude", "gemini", "qwen", "opencode"];

/// The folder of the commands that `scripts/install-agents.sh` installed, or `None` when tests that need them are
/// skipped.
///
/// # Panics
/// When they are missing and the tests were not asked to continue without them.
pub fn installed() -> Option<PathBuf> {
    if std::env::var_os("WAVECREW_SKIP_AGENTS").is_some_and(|value| value == "1") {
        eprintln!("skipped: WAVECREW_SKIP_AGENTS=1");
        return None;
    }
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let folder = std::env::var_os("WAVECREW_AGENTS_DIR")
        .map_or_else(|| home().join(".cache/wavecrew/agents"), PathBuf::from);
    let bin = folder.join("bin");
    assert!(
        bin.join("codex").exists(),
        "no agents in {}: run scripts/install-agents.sh, or set WAVECREW_SKIP_AGENTS=1 to continue without",
        bin.display()
    );
    Some(bin)
}

/// A folder that only the user may write, like every folder above it: below the user's cache folder.
pub fn private_folder() -> io::Result<TempDir> {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
    let folder = cache.join("wavecrew/tests");
    fs::create_dir_all(&folder)?;
    tempfile::tempdir_in(folder)
}

/// Writes the agent's settings below `home` and returns its environment besides `HOME`. Few retries, nothing that
/// phones home.
///
/// # Panics
/// For an agent that is not among [`AGENTS`].
pub fn point(agent: &str, base: &str, home: &Path) -> io::Result<Vec<(String, String)>> {
    let set = |pairs: &[(&str, &str)]| {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Ok(pairs.iter().map(owned).collect())
    };
    match agent {
        "codex" => {
            let config = format!(
                "model = \"fake-1\"\nmodel_provider = \"fake\"\ncheck_for_update_on_startup = false\n\
                 [analytics]\nenabled = false\n[model_providers.fake]\nname = \"fake\"\n\
                 base_url = \"{base}/v1\"\nwire_api = \"responses\"\nenv_key = \"FAKE_KEY\"\n\
                 request_max_retries = 1\nstream_max_retries = 1\n"
            );
            write(home, ".codex/config.toml", &config)?;
            set(&[("FAKE_KEY", "dummy")])
        }
        "claude" => set(&[
            ("ANTHROPIC_BASE_URL", base),
            ("ANTHROPIC_API_KEY", "dummy"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
        ]),
        "gemini" => {
            let settings = json!({
                "security": { "auth": { "selectedType": "gemini-api-key" } },
                "privacy": { "usageStatisticsEnabled": false },
                "general": { "maxAttempts": 2 },
            });
            write_json(home, ".gemini/settings.json", &settings)?;
            set(&[("GEMINI_API_KEY", "dummy"), ("GOOGLE_GEMINI_BASE_URL", base)])
        }
        "qwen" => {
            let settings = json!({
                "security": { "auth": { "selectedType": "openai" } },
                "memory": { "enableManagedAutoMemory": false, "enableManagedAutoDream": false },
                "privacy": { "usageStatisticsEnabled": false },
                "general": { "enableAutoUpdate": false },
                "model": { "generationConfig": { "maxRetries": 1 } },
                "$version": 4,
            });
            write_json(home, ".qwen/settings.json", &settings)?;
            set(&[
                ("OPENAI_API_KEY", "dummy"),
                ("OPENAI_BASE_URL", &format!("{base}/v1")),
                ("OPENAI_MODEL", "fake-1"),
            ])
        }
        "opencode" => {
            let model = json!({ "name": "fake-1", "tool_call": true, "limit": { "context": 100_000, "output": 8000 } });
            let provider = json!({
                "npm": "@ai-sdk/openai-compatible", "name": "fake", "models": { "fake-1": model },
                "options": { "baseURL": format!("{base}/v1"), "apiKey": "dummy" },
            });
            let config = json!({
                "model": "fake/fake-1", "small_model": "fake/fake-1", "provider": { "fake": provider },
            });
            write_json(home, ".config/opencode/opencode.json", &config)?;
            set(&[
                ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
                ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
            ])
        }
        other => panic!("no way is known to point `{other}` at another service"),
    }
}

fn write_json(home: &Path, name: &str, value: &Value) -> io::Result<()> {
    write(home, name, &value.to_string())
}

fn write(home: &Path, name: &str, text: &str) -> io::Result<()> {
    let path = home.join(name);
    fs::create_dir_all(path.parent().unwrap_or(home))?;
    fs::write(path, text)
}
