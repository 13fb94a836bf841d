//! A sandbox for one real agent: a home folder, a model service of its own, and nothing inherited but what a shell needs.

use super::Sandbox;
use crate::fake_model::FakeModel;
use crate::fake_model::client::{installed, point, private_folder};
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub struct AgentSandbox {
    sandbox: Sandbox,
    program: &'static str,
    /// The folder of the agents' commands.
    pub bin: PathBuf,
    pub model: FakeModel,
    cache: TempDir,
}

impl Deref for AgentSandbox {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl AgentSandbox {
    /// A sandbox below this folder, with a service that answers; `None` when tests with real agents are skipped.
    pub fn new(program: &'static str, folder: &Path) -> Option<Self> {
        let bin = installed()?;
        let sandbox = Sandbox::below(folder);
        // The folder may lie in another project, which would be found otherwise.
        sandbox.write("wavecrew.toml", "");
        for folder in ["home", "tmp"] {
            fs::create_dir(sandbox.beside(folder)).expect("a folder");
        }
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([bin.clone()].into_iter().chain(std::env::split_paths(&inherited)));
        let (home, tmp) = (sandbox.beside("home"), sandbox.beside("tmp"));
        let cache = private_folder().expect("a private folder");
        let sandbox = sandbox
            .requiring_confinement()
            .without_inherited_env()
            .env("PATH", path.expect("a search path"))
            .env("HOME", home)
            .env("TMPDIR", tmp)
            .env("XDG_CACHE_HOME", cache.path())
            .env("LANG", "C.UTF-8");
        let model = FakeModel::start().expect("a model service");
        let base = model.base("ok");
        let sandbox = Self {
            sandbox,
            program,
            bin,
            model,
            cache,
        };
        Some(sandbox.service(&base))
    }

    /// Points the agent at another service.
    #[must_use]
    pub fn service(mut self, base: &str) -> Self {
        for (name, value) in self.settings(base) {
            self.sandbox = self.sandbox.env(name, value);
        }
        self
    }

    /// The environment that points the agent at a service, besides its settings files.
    pub fn settings(&self, base: &str) -> Vec<(String, String)> {
        point(self.program, base, &self.home()).expect("settings are written")
    }

    /// Without a private cache folder.
    #[must_use]
    pub fn without_cache(mut self) -> Self {
        self.sandbox.env.retain(|(name, _)| name != "XDG_CACHE_HOME");
        self
    }

    pub fn program(&self) -> &'static str {
        self.program
    }

    pub fn home(&self) -> PathBuf {
        self.beside("home")
    }

    /// The private cache folder.
    pub fn cache(&self) -> &Path {
        self.cache.path()
    }
}
