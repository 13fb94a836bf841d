//! The secret of one attempt. Never printed; compared in constant time.

use crate::error::{IoContext, SessionError};
use std::fmt;
use std::path::Path;

/// The secret that a worker needs to report for its attempt.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    pub(super) fn random() -> Result<Self, SessionError> {
        random_name().map(Self)
    }

    pub fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares in constant time.
    pub(super) fn matches(&self, stored: &[u8]) -> bool {
        let shown = self.0.as_bytes();
        !stored.is_empty()
            && shown.len() == stored.len()
            && shown
                .iter()
                .zip(stored)
                .fold(0, |difference, (a, b)| difference | (a ^ b))
                == 0
    }
}

/// 128 random bits as hex digits: a unique name that cannot be guessed.
pub fn random_name() -> Result<String, SessionError> {
    let mut bytes = [0; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        let flags = rustix::rand::GetRandomFlags::empty();
        match rustix::rand::getrandom(&mut bytes[filled..], flags) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno).context("read", Path::new("the system's random source")),
        }
    }
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// Never shows the secret, so that it cannot reach a log.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}
