//! Bytes as text.

use std::fmt::Write as _;

/// Two lower-case digits per byte.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Percent-encoding for one part of an address; `code` writes a byte that is encoded.
pub fn percent_encoded(text: &str, code: impl Fn(u8) -> String) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&code(byte));
        }
    }
    encoded
}
