//! JSON as JavaScript and Python write it: a text that was cut inside a character has half of a surrogate pair.

use serde::de::DeserializeOwned;

const ESCAPE: usize = "\\uXXXX".len();

/// Reads JSON. Halves of characters become replacement characters.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(bytes).or_else(|error| match without_halves(bytes) {
        Some(whole) => serde_json::from_slice(&whole),
        None => Err(error),
    })
}

/// The same JSON without escapes of lone surrogates; `None` if there are none.
fn without_halves(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::with_capacity(bytes.len());
    let mut at = 0;
    let mut found = false;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let next = rest.get(ESCAPE..).and_then(escaped);
        let (length, is_half) = match escaped(rest) {
            Some(0xD800..=0xDBFF) if matches!(next, Some(0xDC00..=0xDFFF)) => (2 * ESCAPE, false),
            Some(unit) => (ESCAPE, (0xD800..=0xDFFF).contains(&unit)),
            None => (if rest[0] == b'\\' { rest.len().min(2) } else { 1 }, false),
        };
        whole.extend_from_slice(if is_half { br"\ufffd" } else { &rest[..length] });
        found |= is_half;
        at += length;
    }
    found.then_some(whole)
}

/// The code unit of an escape at the start.
fn escaped(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(br"\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_characters_are_replaced() {
        for (json, text) in [
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""a\uD83Eb\udd84""#, "a\u{fffd}b\u{fffd}"),
            (r#""\ud83d\ud83d\udc10""#, "\u{fffd}\u{1f410}"),
            (r#""\\ud83d\ud83e""#, "\\ud83d\u{fffd}"),
        ] {
            assert_eq!(from_slice::<String>(json.as_bytes()).unwrap(), text, "{json}");
        }
        assert!(from_slice::<String>(br#""\ud8""#).is_err());
        assert!(from_slice::<String>(br#""\"#).is_err());
    }
}
