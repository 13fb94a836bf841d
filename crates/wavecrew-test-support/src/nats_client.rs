//! The protocol of NATS, as little as tests need to disturb others: publish anything, and send what others sent once more.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A connection to a server.
#[derive(Debug)]
pub struct NatsClient {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

/// A message with its headers, as the server delivers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NatsMessage {
    pub subject: String,
    /// Whole lines, the first of which is `NATS/1.0`.
    pub headers: String,
    pub payload: Vec<u8>,
}

impl NatsClient {
    /// Connects to the address of one node. It does not get what it publishes itself.
    ///
    /// # Panics
    /// If nobody answers there.
    pub fn connect(url: &str) -> Self {
        Self::open(url, "")
    }

    /// The same with a user and a password.
    ///
    /// # Panics
    /// If nobody answers there.
    pub fn connect_as(url: &str, user: &str, password: &str) -> Self {
        Self::open(url, &format!(r#","user":"{user}","pass":"{password}""#))
    }

    fn open(url: &str, login: &str) -> Self {
        let address = url.trim_start_matches("nats://");
        let mut writer = TcpStream::connect(address).expect("a server");
        let mut reader = BufReader::new(writer.try_clone().expect("a second handle"));
        let mut info = String::new();
        reader.read_line(&mut info).expect("its greeting");
        let hello = format!("CONNECT {{\"verbose\":false,\"echo\":false,\"headers\":true{login}}}\r\n");
        writer.write_all(hello.as_bytes()).expect("it listens");
        Self { reader, writer }
    }

    /// # Panics
    /// If the server is gone.
    pub fn publish(&mut self, message: &NatsMessage) {
        let NatsMessage {
            subject,
            headers,
            payload,
        } = message;
        let (head, all) = (headers.len(), headers.len() + payload.len());
        let mut bytes = if headers.is_empty() {
            format!("PUB {subject} {all}\r\n").into_bytes()
        } else {
            format!("HPUB {subject} {head} {all}\r\n{headers}").into_bytes()
        };
        bytes.extend_from_slice(payload);
        bytes.extend_from_slice(b"\r\nPING\r\n");
        self.writer.write_all(&bytes).expect("it listens");
    }

    /// Publishes a message and returns whether the server refused it.
    pub fn is_refused(&mut self, message: &NatsMessage) -> bool {
        self.publish(message);
        let mut refused = false;
        while let Some(line) = self.line() {
            refused |= line.starts_with("-ERR 'Permissions Violation");
            if line == "PONG" {
                break;
            }
        }
        refused
    }

    /// # Panics
    /// If the server is gone.
    pub fn subscribe(&mut self, subject: &str) {
        let line = format!("SUB {subject} 1\r\nPING\r\n");
        self.writer.write_all(line.as_bytes()).expect("it listens");
        self.wait_for_pong();
    }

    /// Waits until the server has seen everything.
    pub fn wait_for_pong(&mut self) {
        while let Some(line) = self.line() {
            if line == "PONG" {
                return;
            }
        }
    }

    /// The next message; `None` if the connection has ended.
    pub fn next_message(&mut self) -> Option<NatsMessage> {
        loop {
            let line = self.line()?;
            let words: Vec<&str> = line.split(' ').collect();
            // MSG subject sid [reply] bytes; HMSG subject sid [reply] headers bytes
            let (head, all) = match words[..] {
                ["PING"] => {
                    self.writer.write_all(b"PONG\r\n").ok()?;
                    continue;
                }
                ["MSG", .., all] => (0, all.parse().ok()?),
                ["HMSG", .., head, all] => (head.parse().ok()?, all.parse::<usize>().ok()?),
                _ => continue,
            };
            let mut bytes = vec![0; all + 2];
            self.reader.read_exact(&mut bytes).ok()?;
            bytes.truncate(all);
            let payload = bytes.split_off(head);
            return Some(NatsMessage {
                subject: words[1].to_owned(),
                headers: String::from_utf8(bytes).ok()?,
                payload,
            });
        }
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        (self.reader.read_line(&mut line).ok()? > 0).then(|| line.trim_end().to_owned())
    }
}
