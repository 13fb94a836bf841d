//! Paths of the coordinator's machine as paths of a host, and back: in arguments, variables, messages, settings files and
//! output. A path counts only as a whole: `/a/pro` is not found in `/a/pro2` or in `/x/a/pro`.

use memchr::memmem;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Shorter paths, such as `/`, occur in too many other texts.
const MIN_LENGTH: usize = 4;

/// Pairs of corresponding folders or files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathMap(Vec<(PathBuf, PathBuf)>);

impl PathMap {
    /// The longest paths are searched first, because a session is inside its project.
    pub fn new(pairs: impl IntoIterator<Item = (PathBuf, PathBuf)>) -> Self {
        let mut pairs: Vec<_> = pairs
            .into_iter()
            .filter(|(from, _)| from.as_os_str().len() >= MIN_LENGTH)
            .collect();
        pairs.sort_by_key(|(from, _)| std::cmp::Reverse(from.as_os_str().len()));
        pairs.dedup();
        Self(pairs)
    }

    /// The map with one more pair.
    #[must_use]
    pub fn and(&self, pair: Option<(PathBuf, PathBuf)>) -> Self {
        Self::new(self.0.iter().cloned().chain(pair))
    }

    #[must_use]
    pub fn reversed(&self) -> Self {
        Self::new(self.0.iter().map(|(from, to)| (to.clone(), from.clone())))
    }

    /// A path that is one of the folders or inside of one; any other path stays.
    pub fn path(&self, path: &Path) -> PathBuf {
        for (from, to) in &self.0 {
            if let Ok(rest) = path.strip_prefix(from) {
                return if rest.as_os_str().is_empty() {
                    to.clone()
                } else {
                    to.join(rest)
                };
            }
        }
        path.to_owned()
    }

    pub fn os(&self, text: &OsStr) -> OsString {
        OsString::from_vec(self.bytes(text.as_bytes()).into_owned())
    }

    pub fn text(&self, text: &str) -> String {
        String::from_utf8(self.bytes(text.as_bytes()).into_owned()).unwrap_or_else(|_| text.to_owned())
    }

    pub fn bytes<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let finders: Vec<_> = self
            .0
            .iter()
            .map(|(from, to)| (memmem::Finder::new(from.as_os_str().as_bytes()), from, to))
            .collect();
        if finders.iter().all(|(finder, ..)| finder.find(text).is_none()) {
            return Cow::Borrowed(text);
        }
        let mut out = Vec::with_capacity(text.len());
        let mut at = 0;
        while at < text.len() {
            let next = finders
                .iter()
                .filter_map(|(finder, from, to)| Some((at + finder.find(&text[at..])?, *from, *to)))
                // Of two at the same place, the longer one, which is first.
                .min_by_key(|(found, ..)| *found);
            let Some((found, from, to)) = next else { break };
            let end = found + from.as_os_str().len();
            let whole = !continues_before(&text[..found]) && !continues_after(&text[end..]);
            out.extend_from_slice(&text[at..found]);
            out.extend_from_slice(if whole { to } else { from }.as_os_str().as_bytes());
            at = end;
        }
        out.extend_from_slice(&text[at..]);
        Cow::Owned(out)
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || byte >= 0x80
}

fn continues_before(before: &[u8]) -> bool {
    before
        .last()
        .is_some_and(|byte| is_name(*byte) || matches!(byte, b'.' | b'/'))
}

/// A full stop ends a sentence or begins an extension.
fn continues_after(after: &[u8]) -> bool {
    match after {
        [b'.', next, ..] | [next, ..] => is_name(*next),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_paths_are_replaced_and_come_back() {
        let map = PathMap::new([
            ("/a/pro".into(), "/h/slot-1/p".into()),
            ("/a/pro/.w/run-1".into(), "/h/slot-1/p/.w/run-1".into()),
            ("/usr/bin/wavecrew".into(), "/opt/wavecrew".into()),
            ("/".into(), "/never".into()),
        ]);
        let text =
            "see /a/pro/x.rs, \"/a/pro\", /a/pro. /a/pro2 /x/a/pro /a/pro.bak PATH=/a/pro:/usr/bin/wavecrew";
        let there = map.text(text);
        assert_eq!(
            there,
            "see /h/slot-1/p/x.rs, \"/h/slot-1/p\", /h/slot-1/p. /a/pro2 /x/a/pro /a/pro.bak PATH=/h/slot-1/p:/opt/wavecrew"
        );
        assert_eq!(map.reversed().text(&there), text);
        assert_eq!(map.path(Path::new("/a/pro/src")), Path::new("/h/slot-1/p/src"));
        assert_eq!(map.path(Path::new("/a/pro")), Path::new("/h/slot-1/p"));
        assert_eq!(map.path(Path::new("/a/prox")), Path::new("/a/prox"));
        assert!(matches!(map.bytes(b"nothing \xff here"), Cow::Borrowed(_)));
    }
}
