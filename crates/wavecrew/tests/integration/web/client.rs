//! A server under test, and the smallest client that can be as rude as an attacker.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use wavecrew_test_support::sandbox::{Running, Sandbox, Words, wait_for};

/// `wavecrew web`, running.
pub struct Server {
    pub running: Running,
    /// `127.0.0.1:PORT`
    pub address: String,
    pub token: String,
    pub view_token: String,
}

impl Server {
    pub fn start(sandbox: &Sandbox, words: impl Words) -> Self {
        let mut command = sandbox.command("web --json");
        command.args(words.list());
        let running = sandbox.spawn(&mut command);
        let links: Value = wait_for("the links", || serde_json::from_str(&running.stdout()).ok());
        let part = |name: &str| {
            let link = links[name].as_str().expect("a link");
            let (address, token) = link.split_once("token=").expect("a token");
            let address = address
                .trim_start_matches("http://")
                .split('/')
                .next()
                .unwrap_or_default();
            (address.to_owned(), token.to_owned())
        };
        let ((address, token), (_, view_token)) = (part("link"), part("read_only_link"));
        Self {
            running,
            address,
            token,
            view_token,
        }
    }

    pub fn link(&self, path: &str) -> String {
        format!("http://{}{path}?token={}", self.address, self.token)
    }

    fn cookie(&self, token: &str) -> String {
        let port = self.address.rsplit(':').next().unwrap_or_default();
        format!("Cookie: wavecrew-{port}={token}")
    }

    /// A page, with the cookie of full access.
    pub fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[&self.cookie(&self.token)], "")
    }

    pub fn get_read_only(&self, path: &str) -> Reply {
        self.send("GET", path, &[&self.cookie(&self.view_token)], "")
    }

    /// A form, sent as the page of the server would.
    pub fn post(&self, path: &str, form: &str) -> Reply {
        let origin = format!("Origin: http://{}", self.address);
        self.send("POST", path, &[&self.cookie(&self.token), &origin], form)
    }

    pub fn post_from(&self, path: &str, origin: &str, token: &str) -> Reply {
        let origin = format!("Origin: {origin}");
        self.send("POST", path, &[&self.cookie(token), &origin], "")
    }

    pub fn send(&self, method: &str, path: &str, headers: &[&str], form: &str) -> Reply {
        let host = format!("Host: {}", self.address);
        let host = if headers.iter().any(|header| header.starts_with("Host:")) {
            "X-Nothing: 1"
        } else {
            &host
        };
        let headers: String = headers
            .iter()
            .map(|header| format!("{header}\r\n"))
            .collect::<Vec<_>>()
            .concat();
        let length = form.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{host}\r\n{headers}Content-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{form}"
        );
        exchange(&self.address, &request)
    }
}

pub struct Reply {
    pub status: u16,
    pub headers: String,
    pub body: String,
}

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
