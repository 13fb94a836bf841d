//! Content-addressed objects: pieces of files, and trees of folders. An object's id is the hash of its bytes;
//! a large one is a list of pieces. [`ObjectCache`] keeps them on disk, [`ObjectStore`] moves them between
//! machines.

mod at_hand;
mod cache;
mod store;

pub use at_hand::{AtHand, INLINE_OBJECT, INLINE_TOTAL};
pub use cache::ObjectCache;
pub use store::{Content, MAX_AGE, ObjectStore, StoreError};

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fmt::Write as _;
use std::io::{self, Read};
use wavecrew_core::encoding::hex;

/// The largest piece: small enough for a message, large enough to be worth one.
pub const PIECE: usize = 256 << 10;
/// Marks an id whose bytes are a list of pieces.
const LIST: char = 'l';

/// The hash of an object's bytes, as text. With `l` in front, the object is a list of ids, one per line.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ObjectId(String);

impl ObjectId {
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self::of_reader(&mut &*bytes).expect("reading memory")
    }

    /// The id of the content of a reader.
    pub fn of_reader(reader: &mut dyn Read) -> io::Result<Self> {
        split(reader, &mut |_, _| Ok(()))
    }

    /// The id of the list itself, if this is one.
    pub fn list(&self) -> Option<Self> {
        self.0.strip_prefix(LIST).map(|id| Self(id.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<ObjectId> for String {
    fn from(id: ObjectId) -> Self {
        id.0
    }
}

/// Checked, because ids come from other machines and become file names.
impl TryFrom<String> for ObjectId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let hash = text.trim_start_matches(LIST);
        let lists = text.len() - hash.len();
        if lists <= 8
            && hash.len() == 64
            && hash
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        {
            Ok(Self(text))
        } else {
            Err(format!("`{text}` is not the id of an object"))
        }
    }
}

/// Reads objects that are on this machine.
pub trait ObjectReader {
    /// The whole content of a small object, such as a tree.
    fn read(&self, id: &ObjectId) -> io::Result<Vec<u8>>;

    /// Writes the content, piece by piece.
    fn copy_to(&self, id: &ObjectId, out: &mut dyn io::Write) -> io::Result<u64>;
}

/// Splits the content of a reader into pieces, passes each to `keep`, and returns the id of the whole.
pub fn split(
    reader: &mut dyn Read,
    keep: &mut dyn FnMut(&ObjectId, &[u8]) -> io::Result<()>,
) -> io::Result<ObjectId> {
    let mut piece = vec![0; PIECE];
    let mut ids = String::new();
    let mut count = 0_u64;
    let mut last = None;
    loop {
        let mut length = 0;
        while length < PIECE {
            match reader.read(&mut piece[length..]) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if length == 0 && count > 0 {
            break;
        }
        let id = hash(&piece[..length]);
        keep(&id, &piece[..length])?;
        let _ = writeln!(ids, "{id}");
        count += 1;
        last = Some(id);
        if length < PIECE {
            break;
        }
    }
    match last {
        Some(id) if count == 1 => Ok(id),
        _ => {
            let ObjectId(inner) = split(&mut ids.as_bytes(), keep)?;
            Ok(ObjectId(format!("{LIST}{inner}")))
        }
    }
}

fn hash(bytes: &[u8]) -> ObjectId {
    ObjectId(hex(digest(&SHA256, bytes).as_ref()))
}

/// Whether these bytes have the object's hash.
pub(crate) fn is_object(id: &ObjectId, bytes: &[u8]) -> bool {
    hash(bytes) == *id
}

/// The ids in a list.
pub(crate) fn listed(bytes: &[u8]) -> io::Result<Vec<ObjectId>> {
    let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
    text.lines()
        .map(|line| ObjectId::try_from(line.to_owned()).map_err(io::Error::other))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_object_is_a_list_of_pieces() {
        let bytes: Vec<u8> = (0..PIECE * 2 + 5)
            .map(|n| u8::try_from(n % 251).unwrap())
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let cache = ObjectCache::open(folder.path()).unwrap();
        let id = cache.add(&mut bytes.as_slice()).unwrap();
        assert!(id.as_str().starts_with(LIST));
        let mut back = Vec::new();
        assert_eq!(cache.copy_to(&id, &mut back).unwrap(), bytes.len() as u64);
        assert_eq!(back, bytes);
        assert_eq!(ObjectId::of_bytes(&bytes), id);
        let exact = &bytes[..PIECE];
        assert!(ObjectId::of_bytes(exact).list().is_none());
        assert_eq!(ObjectId::of_bytes(b"").as_str().len(), 64);
    }

    #[test]
    fn only_hashes_are_ids() {
        for text in [
            "",
            "../../etc/passwd",
            &"g".repeat(64),
            &"a".repeat(63),
            &"A".repeat(64),
        ] {
            assert!(ObjectId::try_from(text.to_owned()).is_err(), "{text}");
        }
        assert!(ObjectId::try_from(format!("ll{}", "a".repeat(64))).is_ok());
    }
}
