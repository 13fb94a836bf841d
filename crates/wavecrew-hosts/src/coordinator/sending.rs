//! Sends to hosts: the turn itself and the messages after it, in order for each turn.

use super::RunFacts;
use super::run::{Coordinator, News, Shared};
use super::turns::{Offer, Outgoing, Ready, Turn};
use crate::mail;
use crate::task::{Details, SandboxFacts};
use async_nats::jetstream;
use rustix::io::ioctl_fionbio;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use wavecrew_remote::sign::RunKey;
use wavecrew_remote::wire::{AttemptToken, ToHost, Turn as WireTurn, encode};

impl Coordinator {
    /// The task that sends messages of a turn to its host.
    pub(super) fn start_post(&self, key: u64, token: &str, host: &str) -> UnboundedSender<Outgoing> {
        let (outbox, queue) = unbounded_channel();
        tokio::spawn(post(
            self.connection.jetstream.clone(),
            Arc::clone(&self.signing),
            self.names.to_host(host, &self.run),
            key,
            token.to_owned(),
            queue,
            Arc::clone(&self.shared),
        ));
        outbox
    }
}

pub(super) fn wire_turn(facts: &RunFacts, turn: &Turn, ready: &Ready, offer: &Offer) -> WireTurn {
    let text = |text: &OsStr| text.to_string_lossy().into_owned();
    let mut env_set: Vec<(String, String)> = turn
        .command
        .env_set
        .iter()
        .map(|(name, value)| (text(name), text(value)))
        .collect();
    for name in &facts.settings.env {
        if let Ok(value) = std::env::var(name) {
            env_set.push((name.clone(), value));
        }
    }
    let details = Details {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        facts: turn.facts.clone(),
        project: facts.project.clone(),
        session: facts.session.clone(),
        program: facts.settings.program.clone(),
        cwd: turn.command.cwd.clone(),
        roots: ready.roots.clone(),
        stdin: ready.stdin.clone(),
        git: ready.git.clone(),
        inline: (ready.inline.iter().map(|(id, bytes)| (id.clone(), bytes.len()))).collect(),
        sandbox: SandboxFacts::of(&facts.sandbox, &turn.facts.role),
        confined: turn.confined,
    };
    WireTurn {
        attempt: offer.token.clone(),
        turn: turn.facts.turn,
        host: offer.host.clone(),
        lease: facts.settings.terms.lease,
        program: text(&turn.command.program),
        args: turn.command.args.iter().map(|arg| text(arg)).collect(),
        folder: String::new(),
        env_set,
        env_remove: turn.command.env_remove.iter().map(|name| text(name)).collect(),
        files: None,
        bring_back: Vec::new(),
        details: serde_json::to_value(&details).expect("plain data"),
    }
}

pub(super) fn send(offer: &Offer, what: &str, message: &ToHost, bytes: &[u8]) {
    // The task ends only with the turn.
    let _ = offer.outbox.send(Outgoing {
        id: format!("{}-{what}", offer.token.token),
        payload: encode(message, bytes),
    });
}

/// Sends the messages of one turn to its host, in order.
async fn post(
    context: jetstream::Context,
    signing: Arc<RunKey>,
    subject: String,
    key: u64,
    token: String,
    mut queue: UnboundedReceiver<Outgoing>,
    shared: Arc<Shared>,
) {
    while let Some(Outgoing { id, payload }) = queue.recv().await {
        if let Err(error) = mail::send(&context, &subject, &id, payload.into(), Some(&signing)).await {
            let _ = shared.news.send(News::Undeliverable {
                key,
                token: token.clone(),
                reason: error.to_string(),
            });
        }
    }
}

/// Sends the driver's input for an interactive worker.
pub(super) async fn feed(fd: OwnedFd, outbox: UnboundedSender<Outgoing>, attempt: AttemptToken, turn: u32) {
    let reader = ioctl_fionbio(&fd, true)
        .map_err(std::io::Error::from)
        .and_then(|()| Receiver::from_owned_fd_unchecked(fd));
    let Ok(mut reader) = reader else { return };
    let mut buffer = vec![0; 64 << 10];
    let mut offset = 0;
    loop {
        let read = reader.read(&mut buffer).await.unwrap_or(0);
        let message = ToHost::Input {
            attempt: attempt.clone(),
            turn,
            offset,
            last: read == 0,
        };
        let id = format!("{}-input-{offset}-{}", attempt.token, read == 0);
        let payload = encode(&message, &buffer[..read]);
        if outbox.send(Outgoing { id, payload }).is_err() || read == 0 {
            return;
        }
        offset += read as u64;
    }
}
