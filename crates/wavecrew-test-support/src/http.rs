//! The smallest HTTP client: it sends any bytes, so that it can be as rude as an attacker.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

pub struct Reply {
    pub status: u16,
    pub headers: String,
    pub body: String,
}

#[expect(
    clippy::return_self_not_must_use,
    reason = "an expectation may be the last one"
)]
impl Reply {
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}\n{}", self.headers, self.body);
        self
    }

    #[track_caller]
    pub fn expect_text(self, text: &str) -> Self {
        assert!(self.body.contains(text), "no {text:?} in {}", self.body);
        self
    }

    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.headers.lines();
        lines
            .filter_map(|line| line.split_once(": "))
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}

/// Sends a request and reads the answer.
pub fn exchange(address: &str, request: &str) -> Reply {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream
        .set_read_timeout(Some(Duration::from_mins(1)))
        .expect("a time limit");
    stream.write_all(request.as_bytes()).expect("the request is sent");
    let mut bytes = Vec::new();
    let mut chunk = [0; 16 << 10];
    while !is_whole(&bytes) {
        match stream.read(&mut chunk).expect("an answer") {
            0 => break,
            length => bytes.extend_from_slice(&chunk[..length]),
        }
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (headers, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = headers
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or(0);
    let chunked = headers.to_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { dechunked(body) } else { body.to_owned() };
    Reply {
        status,
        headers: headers.to_owned(),
        body,
    }
}

/// Whether everything that the headers announce is there. Some servers leave the connection open.
fn is_whole(bytes: &[u8]) -> bool {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return false;
    };
    let headers = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length = headers
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let length: Option<usize> = length.and_then(|length| length.trim().parse().ok());
    length.is_some_and(|length| bytes.len() >= end + 4 + length)
}

fn dechunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((length, chunk)) = rest.split_once("\r\n") {
        let Ok(length) = usize::from_str_radix(length, 16) else {
            break;
        };
        let Some(text) = chunk.get(..length) else { break };
        body.push_str(text);
        rest = chunk.get(length + 2..).unwrap_or_default();
    }
    body
}
