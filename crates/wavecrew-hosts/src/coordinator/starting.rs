//! Begins a turn: reads its standard input, and starts the scan and the sending of its folders.

use super::pipes::carry;
use super::prepare::{PrepareError, Prepared};
use super::run::{Coordinator, News};
use super::turns::{CommandLine, Ready, Stage, Turn};
use crate::objects::{Content, ObjectId, ObjectStore, StoreError};
use crate::path_map::PathMap;
use crate::task::StdinSource;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc::unbounded_channel;
use wavecrew_process::{ProcessExit, Spawn};
use wavecrew_run::place::WorkerFacts;

/// Standard input up to this size is sent in the message.
const INLINE: u64 = 64 << 10;

impl Coordinator {
    pub(super) fn spawn(&mut self, key: u64, spawn: Spawn, facts: WorkerFacts) {
        let Spawn {
            program,
            args,
            cwd,
            env_set,
            env_remove,
            stdin,
            stdout,
            stderr,
            confinement,
        } = spawn;
        let (pipe, queue) = unbounded_channel();
        let confined = confinement.is_some();
        tokio::spawn(carry(
            key,
            stdout,
            stderr,
            confinement,
            queue,
            Arc::clone(&self.shared),
        ));
        let mut turn = Turn {
            facts,
            command: CommandLine {
                program,
                args,
                cwd,
                env_set,
                env_remove,
            },
            confined,
            stage: Stage::Preparing,
            ready: None,
            stdin: None,
            pipe,
            input: None,
            closing: None,
            file_tries: 0,
            notified: false,
            map: PathMap::default(),
            last_request: 0,
        };
        match read_stdin(stdin) {
            Stdin::Known(content) => turn.stdin = Some(content),
            Stdin::Pipe(fd) => turn.input = Some(fd),
        }
        // An interactive worker cannot be adopted: the conversation so far is unknown.
        let at_host = (turn.stdin.is_some())
            .then(|| self.find_for(&turn.facts))
            .flatten();
        self.turns.insert(key, turn);
        match at_host {
            Some(token) => self.ask_for(key, token),
            None => self.prepare(key),
        }
    }

    pub(super) fn prepare(&self, key: u64) {
        let Some(turn) = self.turns.get(&key) else { return };
        let (shared, facts) = (Arc::clone(&self.shared), turn.facts.clone());
        let (prompt, stdin) = (turn.command.prompt_file(), turn.stdin.clone());
        tokio::spawn(async move {
            let prepared = shared.files.prepare(&facts, prompt, &shared.store).await;
            let ready = match prepared {
                Ok(prepared) => {
                    let Prepared { roots, git, inline } = prepared;
                    let stdin = stdin_source(&shared.store, stdin).await;
                    stdin.map(|stdin| Ready {
                        roots,
                        git,
                        inline,
                        stdin,
                    })
                }
                Err(error) => Err(error),
            };
            let _ = shared.news.send(News::Prepared { key, ready });
        });
    }

    pub(super) fn prepared(&mut self, key: u64, ready: Result<Ready, PrepareError>) {
        let Some(turn) = self.turns.get_mut(&key) else {
            return;
        };
        if turn.closing.is_some() {
            return self.exited(key, ProcessExit::Signal(15), 0);
        }
        match ready {
            Ok(ready) => {
                turn.ready = Some(ready);
                turn.stage = Stage::Waiting {
                    since: Instant::now(),
                };
                self.place(key);
            }
            Err(error) => {
                let full = matches!(error, PrepareError::Store(StoreError::Full(_)));
                let temporary = !full && matches!(error, PrepareError::Store(_));
                self.spawn_failed(key, error.to_string(), temporary);
            }
        }
    }
}

enum Stdin {
    Known(Vec<u8>),
    Pipe(OwnedFd),
}

/// A file is read at once; a pipe is read while the worker runs.
fn read_stdin(fd: OwnedFd) -> Stdin {
    let file = File::from(fd);
    match file.metadata() {
        Ok(found) if found.is_file() => {
            let mut bytes = Vec::new();
            let _ = (&file).read_to_end(&mut bytes);
            Stdin::Known(bytes)
        }
        // `/dev/null` and other devices have no content to send.
        Ok(found) if !std::os::unix::fs::FileTypeExt::is_fifo(&found.file_type()) => Stdin::Known(Vec::new()),
        Ok(_) | Err(_) => Stdin::Pipe(file.into()),
    }
}

async fn stdin_source(store: &ObjectStore, stdin: Option<Vec<u8>>) -> Result<StdinSource, PrepareError> {
    let Some(bytes) = stdin else {
        return Ok(StdinSource::Messages);
    };
    match String::from_utf8(bytes) {
        Ok(text) if text.len() as u64 <= INLINE => Ok(StdinSource::Text { text }),
        Ok(text) => put_stdin(store, text.into_bytes()).await,
        Err(error) => put_stdin(store, error.into_bytes()).await,
    }
}

async fn put_stdin(store: &ObjectStore, bytes: Vec<u8>) -> Result<StdinSource, PrepareError> {
    let id = ObjectId::of_bytes(&bytes);
    store.put(vec![(id.clone(), Content::Bytes(bytes))]).await?;
    Ok(StdinSource::Object { id })
}
