//! The helper programs: source files that are compiled into this binary and unpacked for a run.

use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;

/// Name and text of each source file of a helper.
pub type SourceFiles = &'static [(&'static str, &'static str)];

macro_rules! source_files {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../helpers/", $folder, "/", $name)))),*]
    };
}
pub(crate) use source_files;

/// Writes a helper into `package` below a new temporary folder, which is removed when the result is dropped.
pub fn unpack(files: SourceFiles, package: impl AsRef<Path>) -> io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("wavecrew-testgen-").tempdir()?;
    let package = folder.path().join(package);
    fs::create_dir_all(&package)?;
    for (name, text) in files {
        fs::write(package.join(name), text)?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_file_of_the_helpers_is_compiled_in() {
        for (folder, extension, files) in [
            ("python/wavecrew_testgen", "py", crate::python::HELPER),
            ("javascript", "cjs", crate::javascript::HELPER),
        ] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("helpers").join(folder);
            let mut there: Vec<String> = fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.extension().is_some_and(|found| found == extension))
                .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
                .collect();
            there.sort_unstable();
            let compiled_in: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
            assert_eq!(there, compiled_in);
        }
    }
}
