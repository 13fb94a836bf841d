//! Removes secrets from texts: the values of variables that contain keys, and words that look like the keys of known services.
//! Works on bytes as they arrive.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

use memchr::memmem;
use serde_json::Value;

/// Replaces a secret.
const MASK: &[u8] = b"[redacted]";
/// Shorter values are placeholders (`none`, `dummy`), and masking them would mask ordinary words.
const SHORTEST: usize = 8;
/// A longer word is not a key, so it need not be complete.
const LONGEST: usize = 4096;

/// The prefix of a service's keys, and the least number of characters after it.
const SHAPES: &[(&[u8], usize)] = &[
    (b"sk-", 20),
    (b"sk_live_", 16),
    (b"rk_live_", 16),
    (b"AIza", 30),
    (b"ya29.", 20),
    (b"ghp_", 30),
    (b"gho_", 30),
    (b"ghs_", 30),
    (b"ghu_", 30),
    (b"github_pat_", 30),
    (b"glpat-", 20),
    (b"xoxb-", 20),
    (b"xoxp-", 20),
    (b"gsk_", 30),
    (b"xai-", 30),
    (b"hf_", 30),
    (b"npm_", 30),
    (b"AKIA", 16),
    (b"eyJhbGciOi", 40),
];

/// Suffixes of the names of variables that contain secrets.
const NAMES: &[&str] = &[
    "_API_KEY",
    "_KEY",
    "_TOKEN",
    "_SECRET",
    "_PASSWORD",
    "_CREDENTIALS",
];

#[derive(Debug)]
pub struct Redactor {
    values: Vec<Vec<u8>>,
    /// A text without any of these contains no secret. It is searched as a whole first, because a worker may print a gigabyte.
    hints: Vec<memmem::Finder<'static>>,
}

impl Redactor {
    /// Knows the secrets of these variables.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let secret = |(name, value): (OsString, OsString)| {
            let value = value.into_encoded_bytes();
            // A path is not a secret itself.
            let fits = holds_secret(&name) && value.len() >= SHORTEST && !value.starts_with(b"/");
            fits.then_some(value)
        };
        let mut values: Vec<_> = variables.into_iter().filter_map(secret).collect();
        // The longest first, in case one is part of another.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        let known = values.iter().map(Vec::as_slice);
        let hints = known.chain(SHAPES.iter().map(|(prefix, _)| *prefix));
        let hints = hints.map(|hint| memmem::Finder::new(hint).into_owned()).collect();
        Self { values, hints }
    }

    /// The bytes without secrets; borrowed when there are none.
    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if !self.hints.iter().any(|hint| hint.find(bytes).is_some()) {
            return Cow::Borrowed(bytes);
        }
        let mut out: Vec<u8> = Vec::new();
        let (mut at, mut written) = (0, 0);
        while at < bytes.len() {
            let end = word_end(bytes, at);
            if end - at >= SHORTEST {
                let mut from = at;
                while let Some((start, stop)) = self.first_secret(&bytes[from..end], from > at) {
                    out.extend_from_slice(&bytes[written..from + start]);
                    out.extend_from_slice(MASK);
                    written = from + stop;
                    from = written;
                }
            }
            at = end + separator(bytes, end);
        }
        if written == 0 {
            return Cow::Borrowed(bytes);
        }
        out.extend_from_slice(&bytes[written..]);
        Cow::Owned(out)
    }

    pub fn text(&self, text: &str) -> String {
        // Secrets are replaced as whole words, so the result is valid text.
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    /// The value with every text in it redacted, names of fields included.
    pub fn value(&self, value: Value) -> Value {
        map_text(value, &|text| self.text(text))
    }

    /// Where in the word the first secret begins and ends. `glued`: something stands before the word.
    fn first_secret(&self, word: &[u8], glued: bool) -> Option<(usize, usize)> {
        let by_value = self.values.iter().filter_map(|value| {
            let at = memmem::find(word, value)?;
            Some((at, at + value.len()))
        });
        let by_shape = SHAPES.iter().filter_map(|shape| find_shape(word, glued, *shape));
        by_value
            .chain(by_shape)
            .min_by_key(|(start, stop)| (*start, std::cmp::Reverse(*stop)))
    }
}

/// The value with every text in it changed.
pub fn map_text(value: Value, change: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(&text)),
        Value::Array(items) => Value::Array(items.into_iter().map(|item| map_text(item, change)).collect()),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            Value::Object(
                fields
                    .map(|(name, value)| (change(&name), map_text(value, change)))
                    .collect(),
            )
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

/// How much of the bytes is whole words: what comes after may go on in the next piece.
pub fn settled(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(LONGEST)..];
    let word = tail.iter().rev().take_while(|byte| !is_separator(**byte)).count();
    if word == tail.len() && bytes.len() >= LONGEST {
        return bytes.len();
    }
    bytes.len() - word
}

fn holds_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    NAMES.iter().any(|ending| name.ends_with(ending))
}

fn find_shape(word: &[u8], glued: bool, (prefix, least): (&[u8], usize)) -> Option<(usize, usize)> {
    memmem::find_iter(word, prefix).find_map(|at| {
        let alone = match at.checked_sub(1) {
            Some(before) => !word[before].is_ascii_alphanumeric(),
            None => !glued,
        };
        let rest = &word[at + prefix.len()..];
        let length = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
            .count();
        (alone && length >= least).then(|| (at, at + prefix.len() + length))
    })
}

/// White space, quotes and what escapes them in JSON: no key holds any of these.
fn is_separator(byte: u8) -> bool {
    byte <= b' ' || matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b'<' | b'>')
}

fn word_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes[at..].iter().position(|byte| is_separator(*byte));
    rest.map_or(bytes.len(), |length| at + length)
}

/// One byte, or two where JSON writes a line break or a quote as two.
fn separator(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(b'\\') => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor() -> Redactor {
        let variables = [
            ("OPENAI_API_KEY", "my+own/secret=="),
            ("FAKE_KEY", "dummy"),
            ("SSH_KEY", "/home/me/.ssh/id_rsa"),
            ("PATH", "/usr/bin:/bin"),
            ("LONG_TOKEN", "my+own/secret==and-more"),
        ];
        Redactor::new(variables.map(|(name, value)| (name.into(), value.into())))
    }

    #[test]
    fn secrets_go_and_everything_else_stays() {
        let key = format!("sk-ant-{}", "a1".repeat(20));
        let cases = [
            ("nothing here".to_owned(), "nothing here".to_owned()),
            (format!("key {key}."), "key [redacted]".to_owned()),
            (format!("KEY={key}\nnext"), "KEY=[redacted]\nnext".to_owned()),
            (
                format!(r#"{{"out":"a\n{key}\nb"}}"#),
                r#"{"out":"a\n[redacted]\nb"}"#.to_owned(),
            ),
            ("x=my+own/secret==;y".to_owned(), "x=[redacted];y".to_owned()),
            ("my+own/secret==and-more".to_owned(), "[redacted]".to_owned()),
            (
                "a task-with-a-name-that-is-quite-long".to_owned(),
                "a task-with-a-name-that-is-quite-long".to_owned(),
            ),
            (
                "dummy /home/me/.ssh/id_rsa sk-short".to_owned(),
                "dummy /home/me/.ssh/id_rsa sk-short".to_owned(),
            ),
            (format!("{key},{key}"), "[redacted],[redacted]".to_owned()),
        ];
        for (text, expected) in cases {
            assert_eq!(redactor().text(&text), expected, "{text}");
        }
        assert!(matches!(redactor().bytes(b"plain words"), Cow::Borrowed(_)));
    }

    #[test]
    fn secrets_go_from_every_depth_of_a_value() {
        let value = serde_json::json!({"a": ["my+own/secret==", 7, {"my+own/secret==": null}]});
        let expected = serde_json::json!({"a": ["[redacted]", 7, {"[redacted]": null}]});
        assert_eq!(redactor().value(value), expected);
    }

    #[test]
    fn an_incomplete_word_is_not_settled() {
        assert_eq!(settled(b"a line\n"), 7);
        assert_eq!(settled(b"a lin"), 2);
        assert_eq!(settled(b""), 0);
        assert_eq!(settled(&[b'x'; LONGEST]), LONGEST);
    }
}
