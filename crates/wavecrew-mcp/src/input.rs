//! The client's messages, one per line, with a limit on their length. The protocol library drops a longer line without a
//! word, and its client would wait for ever: instead of it, the library gets a short request with the same id, which it
//! answers with an error.

use serde_json::{Deserializer, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, duplex};

/// The longest message in bytes: that of the library.
const LIMIT: usize = rmcp::transport::async_rw::DEFAULT_MAX_LINE_LENGTH;
/// Where a message that is too long has its id.
const ENDS: usize = 4096;
const BUFFER: usize = 64 << 10;

/// Stdin for the protocol library.
pub(crate) fn bounded(input: impl AsyncRead + Unpin + Send + 'static) -> DuplexStream {
    let (ours, theirs) = duplex(BUFFER);
    tokio::spawn(async move {
        // Either side is gone: the server ends with its input.
        let _ = forward(input, ours, LIMIT).await;
    });
    theirs
}

/// A line that is being read.
#[derive(Default)]
struct Line {
    /// The whole line, or its beginning if it is too long.
    start: Vec<u8>,
    /// The end of a line that is too long.
    end: Vec<u8>,
    length: usize,
}

impl Line {
    fn extend(&mut self, bytes: &[u8], limit: usize) {
        if self.length <= limit {
            let room = limit - self.start.len();
            self.start.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        self.length += bytes.len();
        self.end
            .extend_from_slice(&bytes[bytes.len().saturating_sub(ENDS)..]);
        let surplus = self.end.len().saturating_sub(ENDS);
        self.end.drain(..surplus);
    }

    /// What the library gets.
    fn finish(self, limit: usize) -> Vec<u8> {
        let mut message = if self.length <= limit {
            self.start
        } else if let Some(id) = request_id(&self.start, &self.end) {
            // The library answers an unknown method with its name as the error.
            let error = format!(
                "the message has {} bytes, at most {limit} are allowed; put long texts into files of the project and name them",
                self.length
            );
            json!({"jsonrpc": "2.0", "id": id, "method": error})
                .to_string()
                .into_bytes()
        } else {
            return Vec::new();
        };
        message.push(b'\n');
        message
    }
}

async fn forward(
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    limit: usize,
) -> std::io::Result<()> {
    let mut input = BufReader::with_capacity(BUFFER, input);
    let mut line = Line::default();
    loop {
        let bytes = input.fill_buf().await?;
        if bytes.is_empty() {
            return output.shutdown().await;
        }
        let newline = bytes.iter().position(|byte| *byte == b'\n');
        line.extend(&bytes[..newline.unwrap_or(bytes.len())], limit);
        let read = newline.map_or(bytes.len(), |at| at + 1);
        input.consume(read);
        if newline.is_some() {
            let message = std::mem::take(&mut line).finish(limit);
            output.write_all(&message).await?;
        }
    }
}

/// The id of a request of which only the beginning and the end are known. Clients write it before the parameters, or last.
fn request_id(start: &[u8], end: &[u8]) -> Option<Value> {
    const NAME: &str = "\"id\"";
    let start = String::from_utf8_lossy(&start[..start.len().min(ENDS)]);
    let before = start.split("\"params\"").next().unwrap_or_default();
    let end = String::from_utf8_lossy(end);
    let value = |text: &str, at: usize| {
        let rest = text[at + NAME.len()..].trim_start().strip_prefix(':')?;
        let value = Deserializer::from_str(rest).into_iter::<Value>().next()?.ok()?;
        (value.is_number() || value.is_string()).then_some(value)
    };
    before
        .find(NAME)
        .and_then(|at| value(before, at))
        .or_else(|| end.rfind(NAME).and_then(|at| value(&end, at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    async fn forwarded(input: &str) -> String {
        let (mut ours, theirs) = duplex(1 << 20);
        forward(input.as_bytes(), theirs, 100).await.unwrap();
        let mut text = String::new();
        ours.read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn short_messages_pass_and_long_ones_become_an_error_with_their_id() {
        let long = "x".repeat(9000);
        let first = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"id":"a","t":"{long}"}}}}"#);
        let last = format!(r#"{{"method":"m","params":{{"t":"{long}"}},"jsonrpc":"2.0","id":"b"}}"#);
        let note = format!(r#"{{"jsonrpc":"2.0","method":"note","params":{{"t":"{long}"}}}}"#);
        let text = forwarded(&format!("{{\"id\":1}}\n{first}\n{last}\n{note}\n{{\"id\":2}}\n")).await;
        let messages: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let ids: Vec<&Value> = messages.iter().map(|message| &message["id"]).collect();
        assert_eq!(ids, [&json!(1), &json!(7), &json!("b"), &json!(2)]);
        let error = messages[1]["method"].as_str().unwrap();
        assert!(error.contains("bytes, at most 100 are allowed"), "{error}");
    }
}
