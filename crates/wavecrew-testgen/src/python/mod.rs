//! Python: one helper process per module, a few at a time. The helper is Python source in `helpers/python`, carried in this
//! binary and laid into a temporary folder for the run.

pub(crate) mod child;
mod helper;

use std::path::{Path, PathBuf};

use crate::{LeftOut, Module, OfflineError, Progress, Request, modules};

pub fn generate(request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Module>, OfflineError> {
    let python = request
        .imports
        .interpreter
        .clone()
        .unwrap_or_else(|| interpreter(&request.root));
    let home = helper::lay_out()?;
    modules::each(request, progress, |file, step| {
        let work = child::Work {
            request,
            file,
            python: &python,
            home: home.path(),
        };
        child::run(&work, step)
    })
}

/// A module of which nothing could be learnt.
fn nothing(file: &Path, why: String) -> Module {
    Module {
        file: file.to_owned(),
        left_out: vec![LeftOut {
            what: file.display().to_string(),
            why,
        }],
        ..Module::default()
    }
}

/// The interpreter that the project's own tests run with.
fn interpreter(root: &Path) -> PathBuf {
    root.ancestors()
        .flat_map(|folder| [folder.join(".venv"), folder.join("venv")])
        .chain(std::env::var_os("VIRTUAL_ENV").map(PathBuf::from))
        .map(|venv| venv.join("bin/python"))
        .find(|python| python.exists())
        .unwrap_or_else(|| PathBuf::from("python3"))
}
