//! The words of a command line.

use std::ffi::{OsStr, OsString};

/// One text with spaces between the words, or a list for words that have spaces themselves.
pub trait Words {
    fn list(self) -> Vec<OsString>;
}

impl Words for &str {
    fn list(self) -> Vec<OsString> {
        self.split_whitespace().map(OsString::from).collect()
    }
}

impl Words for &String {
    fn list(self) -> Vec<OsString> {
        self.as_str().list()
    }
}

impl<S: AsRef<OsStr>> Words for &[S] {
    fn list(self) -> Vec<OsString> {
        self.iter().map(|word| word.as_ref().to_owned()).collect()
    }
}

impl<S: AsRef<OsStr>, const N: usize> Words for &[S; N] {
    fn list(self) -> Vec<OsString> {
        self.as_slice().list()
    }
}

impl<S: AsRef<OsStr>> Words for &Vec<S> {
    fn list(self) -> Vec<OsString> {
        self.as_slice().list()
    }
}

impl Words for Vec<OsString> {
    fn list(self) -> Vec<OsString> {
        self
    }
}

/// The words of both, one after the other.
pub(super) fn join(first: &str, more: impl Words) -> Vec<OsString> {
    first.list().into_iter().chain(more.list()).collect()
}
