//! The secret of one attempt. Never printed, and compared in constant time.

use crate::error::{IoContext, SessionError};
use std::fmt;
use std::path::Path;

/// What a worker must show to report for its attempt.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The number of its file, followed by random digits.
    pub(super) fn random(slot: u32) -> Result<Self, SessionError> {
        Ok(Self(format!("{slot:x}-{}", random_name()?)))
    }

    /// The number of its file, as the token claims.
    pub fn slot(&self) -> Option<u32> {
        u32::from_str_radix(self.0.split_once('-')?.0, 16).ok()
    }

    pub fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes the same time wherever the difference is.
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

/// 128 random bits as hex digits: unique, and impossible to guess.
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
