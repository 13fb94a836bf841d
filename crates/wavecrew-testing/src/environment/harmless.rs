//! Runs a test that does nothing, to distinguish a broken environment and wrong canaries from bad tests.

use std::path::{Path, PathBuf};

use wavecrew_measure::Measurement;
use wavecrew_measure::detect::{Framework, Language};
use wavecrew_measure::run::{Collect, TestOrder};

use super::{Canaries, EnvironmentError, TestEnvironment};
use crate::layer::{self, Kind, Placed};
use crate::scope::FrameworkInScope;

impl TestEnvironment {
    /// Whether canaries come out wrong without any file of a worker, because of the project's own settings and hooks.
    pub(super) fn project_bends_canaries(
        &self,
        layer: &str,
        folder: &Path,
    ) -> Result<bool, EnvironmentError> {
        let placed = layer::place(&self.scope, layer, folder)?;
        let Some(test) = placed.iter().find(|file| file.kind == Kind::Test) else {
            return Ok(false);
        };
        let measured = self.run_harmless(test, Canaries::Run);
        Ok(matches!(measured, Err(EnvironmentError::Tampered(_))))
    }

    /// Whether a framework runs a test that does nothing. True for frameworks without such a test.
    pub(crate) fn can_run(&self, framework: &FrameworkInScope) -> Result<bool, EnvironmentError> {
        let index = self.scope.frameworks.iter().position(|known| known == framework);
        let layer = self
            .scope
            .layers
            .first()
            .and_then(|layer| layer.folder.file_name());
        let name = match framework.framework.language() {
            Some(Language::Python) => "test_wavecrew_probe.py",
            Some(Language::JavaScript) => "wavecrew_probe.test.js",
            _ => return Ok(true),
        };
        let (Some(index), Some(layer)) = (index, layer) else {
            return Ok(true);
        };
        let probe = Placed {
            file: PathBuf::from(name),
            framework: index,
            target: layer::folder_of(framework, Path::new(layer)).join(name),
            kind: Kind::Test,
        };
        match self.run_harmless(&probe, Canaries::Omitted) {
            Ok(_) => Ok(true),
            Err(EnvironmentError::Measure(_)) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// Runs a test that does nothing in the place of a test file.
    fn run_harmless(&self, placed: &Placed, canaries: Canaries) -> Result<Measurement, EnvironmentError> {
        let harmless = tempfile::tempdir()?;
        let framework = &self.scope.frameworks[placed.framework];
        let text = match (&framework.framework, Language::of(&placed.file)) {
            (Framework::Jest, _) => "test('nothing', () => {});\n",
            (_, Some(Language::Python)) => "def test_nothing():\n    pass\n",
            _ => "import { test } from 'vitest';\ntest('nothing', () => {});\n",
        };
        let file = harmless.path().join(&placed.file);
        std::fs::create_dir_all(file.parent().unwrap_or(harmless.path()))?;
        std::fs::write(file, text)?;
        let only = std::slice::from_ref(placed);
        let _overlay = layer::overlay(&self.tree, harmless.path(), only, &self.snapshot.manifest)?;
        let files = [self.tree.join(&placed.target)];
        let (collect, order) = (Collect::TestsOnly, TestOrder::Default);
        self.measure(framework, &files, collect, order, self.timeout, canaries)
    }
}
