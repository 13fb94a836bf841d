//! Python: one helper process per module, a few at a time. The helper is Python source in `helpers/python`, carried in this
//! binary and laid into a temporary folder for the run.

pub(crate) mod child;
mod helper;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc;
use std::thread;

use crate::{LeftOut, Module, OfflineError, Progress, Request};

pub fn generate(request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Module>, OfflineError> {
    fs::create_dir_all(&request.layer_folder).map_err(|why| OfflineError::Folder {
        path: request.layer_folder.clone(),
        why,
    })?;
    let python = request
        .imports
        .interpreter
        .clone()
        .unwrap_or_else(|| interpreter(&request.root));
    let home = helper::lay_out()?;
    let todo: Mutex<VecDeque<(usize, &PathBuf)>> = Mutex::new(request.files.iter().enumerate().collect());
    let mut done: Vec<Option<Module>> = vec![None; request.files.len()];
    let mut failure = None;
    thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        for _ in 0..request.jobs.clamp(1, request.files.len().max(1)) {
            let (tell, todo, home, python) = (tell.clone(), &todo, home.path(), &python);
            scope.spawn(move || {
                let next = || todo.lock().ok().and_then(|mut left| left.pop_front());
                while let Some((index, file)) = next() {
                    let started = Progress::Started { module: file.clone() };
                    let step = |what: String| {
                        let module = file.clone();
                        tell.send(Said::Progress(Progress::Step { module, what })).is_ok()
                    };
                    let said = tell.send(Said::Progress(started));
                    let module = child::run(
                        &child::Work {
                            request,
                            file,
                            python,
                            home,
                        },
                        step,
                    );
                    if said.is_err() || tell.send(Said::Done(index, module)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(tell);
        for said in told {
            match said {
                Said::Progress(what) => progress(what),
                Said::Done(index, Ok(module)) => {
                    progress(Progress::Finished(Box::new(module.clone())));
                    done[index] = Some(module);
                }
                Said::Done(_, Err(error)) => failure = failure.take().or(Some(error)),
            }
        }
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(done.into_iter().flatten().collect()),
    }
}

enum Said {
    Progress(Progress),
    Done(usize, Result<Module, OfflineError>),
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
