//! Runs one job per module of a request, several at a time, whatever the language.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, mpsc};
use std::thread;

use crate::time_plan::{Share, TimePlan, ordered};
use crate::{GenerateError, Module, NOT_REACHED, Progress, Request};

/// Reports a step of a job; false when nobody listens any more.
pub type OnStep<'a> = &'a dyn Fn(String) -> bool;

enum JobMessage {
    Progress(Progress),
    Done(usize, Result<Module, GenerateError>),
}

/// Runs `job` for each file in the order of its value, as many at a time as the request allows, each in its share of the
/// time. Results are in the order of the request's files.
pub fn for_each_module(
    request: &Request,
    progress: &mut dyn FnMut(Progress),
    job: impl Fn(&PathBuf, Share, OnStep<'_>) -> Result<Module, GenerateError> + Sync,
) -> Result<Vec<Module>, GenerateError> {
    fs::create_dir_all(&request.layer_folder).map_err(|why| GenerateError::Folder {
        path: request.layer_folder.clone(),
        why,
    })?;
    let plan = TimePlan::of(request);
    let todo: Mutex<VecDeque<(usize, &PathBuf)>> = Mutex::new(ordered(request).into());
    let mut done: Vec<Option<Module>> = vec![None; request.files.len()];
    let mut failure = None;
    thread::scope(|scope| {
        let (sender, messages) = mpsc::channel();
        for _ in 0..request.jobs.clamp(1, request.files.len().max(1)) {
            let (sender, todo, job, plan) = (sender.clone(), &todo, &job, &plan);
            scope.spawn(move || {
                let next = || {
                    let mut left = todo.lock().ok()?;
                    let share = plan.share(left.len());
                    Some((left.pop_front()?, share))
                };
                while let Some(((index, file), share)) = next() {
                    let Some(share) = share else {
                        let module = Module::untested(file, NOT_REACHED.to_owned());
                        if sender.send(JobMessage::Done(index, Ok(module))).is_err() {
                            break;
                        }
                        continue;
                    };
                    let started = Progress::Started { module: file.clone() };
                    let sent = sender.send(JobMessage::Progress(started));
                    let on_step = |what: String| {
                        let module = file.clone();
                        let step = Progress::Step { module, what };
                        sender.send(JobMessage::Progress(step)).is_ok()
                    };
                    let module = job(file, share, &on_step);
                    if sent.is_err() || sender.send(JobMessage::Done(index, module)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for message in messages {
            match message {
                JobMessage::Progress(what) => progress(what),
                JobMessage::Done(index, Ok(module)) => {
                    progress(Progress::Finished(Box::new(module.clone())));
                    done[index] = Some(module);
                }
                JobMessage::Done(_, Err(error)) => failure = failure.take().or(Some(error)),
            }
        }
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(done.into_iter().flatten().collect()),
    }
}
