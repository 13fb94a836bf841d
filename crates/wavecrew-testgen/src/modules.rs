//! The modules of a request, a few at a time, in whatever language.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, mpsc};
use std::thread;

use crate::{Module, OfflineError, Progress, Request};

/// Tells of a step on the way; false when nobody listens any more.
pub type Step<'a> = &'a dyn Fn(String) -> bool;

enum Said {
    Progress(Progress),
    Done(usize, Result<Module, OfflineError>),
}

/// Works on each module, as many at a time as the request allows; what came of them is in the order of its files.
pub fn each(
    request: &Request,
    progress: &mut dyn FnMut(Progress),
    work: impl Fn(&PathBuf, Step<'_>) -> Result<Module, OfflineError> + Sync,
) -> Result<Vec<Module>, OfflineError> {
    fs::create_dir_all(&request.layer_folder).map_err(|why| OfflineError::Folder {
        path: request.layer_folder.clone(),
        why,
    })?;
    let todo: Mutex<VecDeque<(usize, &PathBuf)>> = Mutex::new(request.files.iter().enumerate().collect());
    let mut done: Vec<Option<Module>> = vec![None; request.files.len()];
    let mut failure = None;
    thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        for _ in 0..request.jobs.clamp(1, request.files.len().max(1)) {
            let (tell, todo, work) = (tell.clone(), &todo, &work);
            scope.spawn(move || {
                let next = || todo.lock().ok().and_then(|mut left| left.pop_front());
                while let Some((index, file)) = next() {
                    let started = Progress::Started { module: file.clone() };
                    let said = tell.send(Said::Progress(started));
                    let step = |what: String| {
                        let module = file.clone();
                        tell.send(Said::Progress(Progress::Step { module, what })).is_ok()
                    };
                    let module = work(file, &step);
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
