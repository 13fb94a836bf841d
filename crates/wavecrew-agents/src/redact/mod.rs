//! Removes secrets from texts: the values of variables that contain keys, in every usual form, and words that look like the
//! keys of known services. Works on bytes as they arrive.

mod secrets;

use aho_corasick::{AhoCorasick, MatchKind};
use secrets::{Pattern, Place, patterns};
use serde_json::Value;
use std::borrow::Cow;
use std::ffi::OsString;
use std::ops::Range;

/// Replaces a secret.
const MASK: &[u8] = b"[redacted]";
/// A longer word is not a key, so it need not be complete.
const LONGEST: usize = 4096;
/// Characters around a part in base64 that contain bits of it.
const BITS_AROUND: usize = 4;

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
    (b"https://hooks.slack.com/", 20),
    (b"https://discord.com/api/webhooks/", 20),
    (b"https://discordapp.com/api/webhooks/", 20),
    (b"https://outlook.office.com/webhook", 20),
];

#[derive(Debug)]
pub struct Redactor {
    patterns: Vec<Pattern>,
    /// Finds the patterns, and after them the prefixes of [`SHAPES`].
    finder: AhoCorasick,
    /// Some patterns contain white space or quotes, so that words are not enough.
    needs_lines: bool,
}

impl Redactor {
    /// Knows the secrets of these variables.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let patterns = patterns(variables);
        let known = patterns.iter().map(|pattern| pattern.bytes.as_slice());
        let all = known.chain(SHAPES.iter().map(|(prefix, _)| *prefix));
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(all)
            .expect("variables are far shorter than what a finder takes");
        let has_separator = |pattern: &Pattern| pattern.bytes.iter().copied().any(is_separator);
        Self {
            needs_lines: patterns.iter().any(has_separator),
            patterns,
            finder,
        }
    }

    /// The bytes without secrets; borrowed when there are none.
    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let (mut out, mut written) = (Vec::new(), 0);
        for secret in self.find(bytes) {
            out.extend_from_slice(&bytes[written..secret.start]);
            out.extend_from_slice(MASK);
            written = secret.end;
        }
        if written == 0 {
            return Cow::Borrowed(bytes);
        }
        out.extend_from_slice(&bytes[written..]);
        Cow::Owned(out)
    }

    /// Where the secrets are, in order. They do not overlap.
    pub fn find(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let (mut found, mut at, mut masked) = (Vec::new(), 0, 0);
        while let Some(hit) = self.finder.find(aho_corasick::Input::new(bytes).range(at..)) {
            let secret = self.extent(bytes, hit.pattern().as_usize(), hit.range(), masked);
            at = secret.as_ref().map_or(hit.start() + 1, |secret| secret.end);
            masked = masked.max(secret.as_ref().map_or(0, |secret| secret.end));
            found.extend(secret);
        }
        found
    }

    /// The whole secret around a hit. What lies before `free` is masked already.
    fn extent(&self, bytes: &[u8], number: usize, hit: Range<usize>, free: usize) -> Option<Range<usize>> {
        let Some(pattern) = self.patterns.get(number) else {
            let (_, least) = SHAPES[number - self.patterns.len()];
            return shape_extent(bytes, hit, least);
        };
        match pattern.place {
            Place::Anywhere => Some(hit),
            Place::Alone => {
                let goes_on = bytes.get(hit.end).is_some_and(u8::is_ascii_alphanumeric);
                (!goes_on && !follows_word(&bytes[..hit.start])).then_some(hit)
            }
            Place::InBase64 => {
                let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/-_=".contains(byte);
                let before = &bytes[free.max(hit.start.saturating_sub(BITS_AROUND))..hit.start];
                let before = before.iter().rev().take_while(is_part).count();
                let after = bytes[hit.end..]
                    .iter()
                    .take(BITS_AROUND)
                    .take_while(is_part)
                    .count();
                Some(hit.start - before..hit.end + after)
            }
        }
    }

    /// How much of the bytes can be searched: what comes after may go on in the next piece.
    pub fn complete_until(&self, bytes: &[u8]) -> usize {
        let tail = &bytes[bytes.len().saturating_sub(LONGEST)..];
        let ends = |byte: &&u8| {
            if self.needs_lines {
                **byte == b'\n'
            } else {
                is_separator(**byte)
            }
        };
        let open = tail.iter().rev().take_while(|byte| !ends(byte)).count();
        if open == tail.len() && bytes.len() >= LONGEST {
            return bytes.len();
        }
        bytes.len() - open
    }

    pub fn text(&self, text: &str) -> String {
        // Secrets are whole characters, so the result is valid text.
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    /// The value with every text in it redacted, names of fields included.
    pub fn value(&self, value: Value) -> Value {
        map_text(value, &|text| self.text(text))
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

/// Whether the bytes end with a letter or digit, other than that of an escape such as `\n`.
fn follows_word(before: &[u8]) -> bool {
    match before {
        [.., b'\\', b'n' | b't' | b'r'] | [] => false,
        [.., last] => last.is_ascii_alphanumeric(),
    }
}

/// The key that starts with a prefix, if it is long enough and not the end of another word.
fn shape_extent(bytes: &[u8], prefix: Range<usize>, least: usize) -> Option<Range<usize>> {
    if follows_word(&bytes[..prefix.start]) {
        return None;
    }
    let is_address = bytes[prefix.clone()].contains(&b'/');
    let is_part = |byte: &&u8| {
        byte.is_ascii_alphanumeric() || b"-_.".contains(byte) || (is_address && b"/?=&@%~+:".contains(byte))
    };
    let length = bytes[prefix.end..].iter().take_while(is_part).count();
    (length >= least).then_some(prefix.start..prefix.end + length)
}

/// White space and quotes: no key of a service holds any of these.
fn is_separator(byte: u8) -> bool {
    byte <= b' ' || matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>')
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
        let redactor = redactor();
        assert_eq!(redactor.complete_until(b"a line\n"), 7);
        assert_eq!(redactor.complete_until(b"a lin"), 2);
        assert_eq!(redactor.complete_until(b""), 0);
        assert_eq!(redactor.complete_until(&[b'x'; LONGEST]), LONGEST);
        let phrase = Redactor::new([("A_SECRET".into(), "two words, one secret".into())]);
        assert_eq!(phrase.complete_until(b"a line\nand two wor"), 7);
    }

    /// Every form of every secret is masked, and what stands around it stays.
    #[test]
    fn secrets_go_in_every_form() {
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END PRIVATE KEY-----\n";
        let variables = [
            ("PASSWORD", "hunter2"),
            ("PGPASSWORD", "tr0ub4dor&3"),
            ("LOGIN_PIN", "4711"),
            (
                "DATABASE_URL",
                "postgres://me:p%40ss%2Fword@db.example:5432/shop?sslmode=on",
            ),
            ("REDIS", "redis://:another-one@cache:6379"),
            ("APP_DSN", "host=db password=libpq-pass user=me"),
            ("SLACK_WEBHOOK_URL", "https://example.org/hook/T0/B0/abcdef"),
            ("SIGNING_PRIVATE_KEY", key),
            ("SESSION_SECRET", "a \"quoted\" secret/with everything\\"),
            ("PWD", "/home/me/project"),
            ("SOME_KEY", "dummy"),
            ("OTHER_TOKEN", "4096"),
        ];
        let redactor = Redactor::new(variables.map(|(name, value)| (name.into(), value.into())));
        let secret = "a \"quoted\" secret/with everything\\";
        let json = serde_json::to_string(secret).unwrap();
        let twice = serde_json::to_string(&json).unwrap();
        for (text, expected) in [
            ("pw hunter2!", "pw [redacted]!"),
            (r"a\nhunter2\nb", r"a\n[redacted]\nb"),
            ("hunter2000 and xhunter2", "hunter2000 and xhunter2"),
            ("b64 aHVudGVyMg== aHVudGVyMgo=", "b64 [redacted]== [redacted]="),
            ("pin 4711, port 4096, dummy", "pin [redacted], port 4096, dummy"),
            ("postgres://me:p%40ss%2Fword@db", "postgres://me:[redacted]@db"),
            ("plain p@ss/word here", "plain [redacted] here"),
            ("redis://:another-one@cache", "redis://:[redacted]@cache"),
            ("password=libpq-pass user=me", "password=[redacted] user=me"),
            ("POST https://example.org/hook/T0/B0/abcdef", "POST [redacted]"),
            (
                "https://hooks.slack.com/services/T000/B000/XXXXXXXXXXXX x",
                "[redacted] x",
            ),
            ("  MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n", "  [redacted]\n"),
            (
                r"BEGIN\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n",
                r"BEGIN\n[redacted]\n[redacted]\n",
            ),
            (secret, "[redacted]"),
            (&json, "\"[redacted]\""),
            (&twice, "\"\\\"[redacted]\\\"\""),
            ("q=tr0ub4dor%263&x", "q=[redacted]&x"),
            (
                "a%20%22quoted%22%20secret%2fwith",
                "a%20%22quoted%22%20secret%2fwith",
            ),
            ("cd /home/me/project", "cd /home/me/project"),
            // `user:tr0ub4dor&3`, `x tr0ub4dor&3 y` and the value alone.
            ("Basic dXNlcjp0cjB1YjRkb3ImMw==", "Basic dXN[redacted]"),
            ("eCB0cjB1YjRkb3ImMyB5", "[redacted]"),
            ("dHIwdWI0ZG9yJjMK.", "[redacted]."),
        ] {
            assert_eq!(redactor.text(text), expected, "{text}");
        }
    }
}
