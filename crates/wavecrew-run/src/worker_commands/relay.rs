//! Commands of a worker whose run is on another machine. The host that runs the worker listens on a socket and passes each
//! request to the run, where [`WorkerCommands::answer`] carries it out: tokens are compared in one place only.

use super::{Refused, WorkerCommands};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use wavecrew_session::{Discovery, SessionDir, Token};

/// A worker's request to its run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum RelayRequest {
    Report {
        body: String,
    },
    Discover {
        kind: String,
        data: Map<String, Value>,
    },
    Discoveries {
        kind: Option<String>,
    },
    Message {
        kind: String,
        summary: String,
        data: Value,
        to: Option<String>,
    },
    Wisdom {
        file: String,
        text: String,
    },
    Ask {
        question: String,
        options: Vec<String>,
    },
}

/// A request on its way to the host: only the worker itself may make it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelayCall {
    pub token: String,
    #[serde(flatten)]
    pub request: RelayRequest,
}

/// The run's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum RelayReply {
    Done { warnings: Vec<String> },
    Discoveries { entries: Vec<Discovery> },
    Answered { text: String },
    Refused { message: String, help: String },
}

/// The way to the run, from the worker's side.
#[derive(Clone, Debug)]
pub struct Relay {
    socket: PathBuf,
    token: String,
}

/// The file in a worker's inbox with the address of its host.
fn address_file(session: &SessionDir, number: u32) -> PathBuf {
    session.inbox(number).join("relay")
}

impl Relay {
    /// Writes the address into the inbox of the worker with this number; the inbox must exist.
    pub fn announce(session: &SessionDir, number: u32, socket: &Path) -> std::io::Result<()> {
        fs::write(
            address_file(session, number),
            socket.as_os_str().as_encoded_bytes(),
        )
    }

    /// The relay of the worker with this token, if its run is elsewhere.
    pub(super) fn find(session: &SessionDir, token: Option<&Token>) -> Option<Self> {
        let token = token?;
        let socket = fs::read_to_string(address_file(session, token.slot()?)).ok()?;
        Some(Self {
            socket: socket.into(),
            token: token.as_str().to_owned(),
        })
    }

    /// Sends the request and waits for the answer.
    pub fn call(&self, request: RelayRequest) -> Result<RelayReply, Refused> {
        let failed = |error: std::io::Error| {
            Refused::request(
                format!("the run cannot be reached: {error}"),
                "try again; if it does not help, put the result at the end of your output",
            )
        };
        let mut stream = UnixStream::connect(&self.socket).map_err(failed)?;
        let token = self.token.clone();
        let mut line = serde_json::to_vec(&RelayCall { token, request }).expect("plain data");
        line.push(b'\n');
        stream.write_all(&line).map_err(failed)?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).map_err(failed)?;
        match serde_json::from_str(&answer) {
            Ok(RelayReply::Refused { message, help }) => Err(Refused::BadRequest { message, help }),
            Ok(reply) => Ok(reply),
            Err(error) => Err(failed(error.into())),
        }
    }
}

impl WorkerCommands {
    /// Executes a request from another machine. Blocks until a question is answered.
    pub fn answer(&self, request: RelayRequest) -> RelayReply {
        let done = |()| RelayReply::Done { warnings: Vec::new() };
        let answered = match request {
            RelayRequest::Report { body } => self.report(&body).map(done),
            RelayRequest::Discover { kind, data } => self
                .discover(&kind, data)
                .map(|warnings| RelayReply::Done { warnings }),
            RelayRequest::Discoveries { kind } => self
                .discoveries(kind.as_deref())
                .map(|entries| RelayReply::Discoveries { entries }),
            RelayRequest::Message {
                kind,
                summary,
                data,
                to,
            } => self.message(&kind, &summary, data, to.as_deref()).map(done),
            RelayRequest::Wisdom { file, text } => self.wisdom(&file, &text).map(done),
            RelayRequest::Ask { question, options } => self
                .ask(&question, options)
                .and_then(super::PendingAnswer::wait)
                .map(|text| RelayReply::Answered { text }),
        };
        answered.unwrap_or_else(|refused| RelayReply::Refused {
            help: refused.help(),
            message: refused.to_string(),
        })
    }
}

/// The error for an answer of the wrong kind.
pub(super) fn unexpected(reply: &RelayReply) -> Refused {
    Refused::request(
        format!("the run sent an unexpected answer: {reply:?}"),
        "tell the person who started the run",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_and_its_answer_keep_their_meaning_on_the_way() {
        let request = RelayRequest::Message {
            kind: "done".into(),
            summary: "s".into(),
            data: serde_json::json!({"a": 1}),
            to: None,
        };
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<RelayRequest>(&text).unwrap(), request);
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let host = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            let reply = RelayReply::Refused {
                message: "too late".into(),
                help: "stop".into(),
            };
            (&stream)
                .write_all(format!("{}\n", serde_json::to_string(&reply).unwrap()).as_bytes())
                .unwrap();
            serde_json::from_str::<RelayCall>(&line).unwrap()
        });
        let token = "1-secret".to_owned();
        let relay = Relay { socket, token };
        let refused = relay.call(request.clone()).unwrap_err();
        assert_eq!(
            (refused.to_string(), refused.help()),
            ("too late".into(), "stop".into())
        );
        let call = host.join().unwrap();
        assert_eq!((call.token.as_str(), call.request), ("1-secret", request));
    }
}
