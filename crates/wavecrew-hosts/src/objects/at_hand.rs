//! The objects of one turn: those on this machine's disk, and small ones that came in a message.

use super::{ObjectCache, ObjectId, ObjectReader, is_object};
use bytes::Bytes;
use std::collections::HashMap;
use std::io;

/// Objects up to this size may travel in a message.
pub const INLINE_OBJECT: u64 = 16 << 10;
/// As many bytes of objects may travel in one message: with the rest of it, well below the 1 MB that a server accepts by
/// default.
pub const INLINE_TOTAL: u64 = 128 << 10;

#[derive(Clone, Debug)]
pub struct AtHand {
    cache: ObjectCache,
    inline: HashMap<ObjectId, Bytes>,
}

impl AtHand {
    /// Nothing but what is on disk.
    pub fn on_disk(cache: &ObjectCache) -> Self {
        Self {
            cache: cache.clone(),
            inline: HashMap::new(),
        }
    }

    /// With objects that follow each other in a message. Bytes that are not the object are refused.
    pub fn with(cache: &ObjectCache, listed: &[(ObjectId, usize)], bytes: &Bytes) -> io::Result<Self> {
        let (mut all, mut at) = (Self::on_disk(cache), 0_usize);
        for (id, length) in listed {
            let end = at.saturating_add(*length);
            let object = (bytes.get(at..end)).filter(|object| is_object(id, object));
            let object = object.ok_or_else(|| io::Error::other(format!("object {id} is damaged")))?;
            all.inline.insert(id.clone(), bytes.slice_ref(object));
            at = end;
        }
        Ok(all)
    }

    pub fn add(&mut self, bytes: Vec<u8>) -> ObjectId {
        let id = ObjectId::of_bytes(&bytes);
        self.inline.insert(id.clone(), bytes.into());
        id
    }

    pub fn cache(&self) -> &ObjectCache {
        &self.cache
    }

    /// Whether the object came in a message and may be nowhere else.
    pub fn is_inline(&self, id: &ObjectId) -> bool {
        self.inline.contains_key(id)
    }

    pub fn has(&self, id: &ObjectId) -> bool {
        self.is_inline(id) || self.cache.has(id)
    }
}

impl ObjectReader for AtHand {
    fn read(&self, id: &ObjectId) -> io::Result<Vec<u8>> {
        match self.inline.get(id) {
            Some(bytes) => Ok(bytes.to_vec()),
            None => self.cache.read(id),
        }
    }

    fn copy_to(&self, id: &ObjectId, out: &mut dyn io::Write) -> io::Result<u64> {
        match self.inline.get(id) {
            Some(bytes) => out.write_all(bytes).map(|()| bytes.len() as u64),
            None => self.cache.copy_to(id, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_a_message_are_read_and_wrong_ones_refused() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ObjectCache::open(folder.path()).unwrap();
        let on_disk = cache.add(&mut &b"disk"[..]).unwrap();
        let [one, two] = [b"one".as_slice(), b"two"].map(ObjectId::of_bytes);
        let listed = [(one.clone(), 3), (two.clone(), 3)];
        let bytes = Bytes::from_static(b"onetwo");
        let all = AtHand::with(&cache, &listed, &bytes).unwrap();
        let text = |id| String::from_utf8(all.read(id).unwrap()).unwrap();
        assert_eq!([text(&one), text(&two), text(&on_disk)], ["one", "two", "disk"]);
        assert!(all.has(&two) && all.has(&on_disk) && !all.is_inline(&on_disk));
        for wrong in [
            vec![(one.clone(), 2)],
            vec![(two, 3), (one.clone(), 3)],
            vec![(one.clone(), 3), (one, usize::MAX - 3)],
        ] {
            assert!(AtHand::with(&cache, &wrong, &bytes).is_err(), "{wrong:?}");
        }
    }
}
