//! Passes commands of a worker to its run: the socket for `wavecrew report` and similar commands.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use wavecrew_run::worker_commands::{RelayCall, RelayReply, RelayRequest};

/// Longer requests are refused.
const LONGEST: u64 = 4 << 20;
/// How long a worker waits for an unresponsive run.
const PATIENCE: Duration = Duration::from_mins(1);
/// A report is stored before it is answered: without an answer by then, the run will find it when it continues.
const REPORT_PATIENCE: Duration = Duration::from_secs(20);
/// A question waits for a person.
const QUESTION_PATIENCE: Duration = Duration::from_mins(6);

/// A request of the worker, and the channel for its answer.
pub(super) struct Asked {
    pub request: RelayRequest,
    pub answer: oneshot::Sender<RelayReply>,
}

/// Requests without an answer yet.
#[derive(Default)]
pub(super) struct Unanswered {
    next: u64,
    waiting: HashMap<u64, oneshot::Sender<RelayReply>>,
}

impl Unanswered {
    pub fn add(&mut self, answer: oneshot::Sender<RelayReply>) -> u64 {
        self.next += 1;
        self.waiting.retain(|_, waiting| !waiting.is_closed());
        self.waiting.insert(self.next, answer);
        self.next
    }

    pub fn answer(&mut self, number: u64, reply: serde_json::Value) {
        if let Some(waiting) = self.waiting.remove(&number)
            && let Ok(reply) = serde_json::from_value(reply)
        {
            let _ = waiting.send(reply);
        }
    }
}

/// Listens for the worker with this token; ends when the handle is aborted.
pub(super) fn listen(
    socket: &Path,
    token: String,
    asked: UnboundedSender<Asked>,
) -> io::Result<JoinHandle<()>> {
    let listener = UnixListener::bind(socket)?;
    Ok(tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, token.clone(), asked.clone()));
        }
    }))
}

async fn serve(stream: UnixStream, token: String, asked: UnboundedSender<Asked>) {
    let (reader, mut writer) = stream.into_split();
    let mut line = String::new();
    let mut reader = BufReader::new(reader.take(LONGEST));
    if reader.read_line(&mut line).await.is_err() {
        return;
    }
    let reply = match serde_json::from_str::<RelayCall>(&line) {
        Ok(call) if call.token == token => forward(call.request, &asked).await,
        Ok(_) => refused("the token is not that of this attempt"),
        Err(error) => refused(&format!("the request cannot be read: {error}")),
    };
    let mut line = serde_json::to_vec(&reply).expect("plain data");
    line.push(b'\n');
    // A worker that no longer listens has ended.
    let _ = writer.write_all(&line).await;
}

async fn forward(request: RelayRequest, asked: &UnboundedSender<Asked>) -> RelayReply {
    let (answer, answered) = oneshot::channel();
    let is_report = matches!(request, RelayRequest::Report { .. });
    let patience = match &request {
        RelayRequest::Report { .. } => REPORT_PATIENCE,
        RelayRequest::Ask { .. } => QUESTION_PATIENCE,
        RelayRequest::Discover { .. }
        | RelayRequest::Discoveries { .. }
        | RelayRequest::Message { .. }
        | RelayRequest::Wisdom { .. } => PATIENCE,
    };
    if asked.send(Asked { request, answer }).is_err() {
        return refused("the attempt has ended");
    }
    match tokio::time::timeout(patience, answered).await {
        Ok(Ok(reply)) => reply,
        Err(_) if is_report => RelayReply::Done { warnings: Vec::new() },
        Ok(Err(_)) | Err(_) => refused("the run does not answer"),
    }
}

fn refused(message: &str) -> RelayReply {
    RelayReply::Refused {
        message: message.to_owned(),
        help: "go on with the task, and put the result at the end of your output".to_owned(),
    }
}
