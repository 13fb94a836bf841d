//! The content of a folder, by hash. As objects it is a tree with one object per folder, so after a change
//! only the objects of the changed folder and of the folders above it are sent.

use crate::objects::{ObjectId, ObjectReader};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    File {
        id: ObjectId,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        executable: bool,
        size: u64,
    },
    /// A symbolic link, with its target.
    Link {
        to: String,
    },
    Folder,
}

/// Paths relative to the folder, with `/` between names. A folder comes before its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot(pub BTreeMap<String, Entry>);

/// A folder as an object.
#[derive(Serialize, Deserialize)]
struct Folder(BTreeMap<String, Node>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Node {
    Below { folder: ObjectId },
    Entry(Entry),
}

impl Snapshot {
    /// The tree's objects, and the id of its root.
    pub fn objects(&self) -> (ObjectId, Vec<(ObjectId, Vec<u8>)>) {
        let mut below: BTreeMap<&str, Vec<(&str, &Entry)>> = BTreeMap::from([("", Vec::new())]);
        for (path, entry) in &self.0 {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            below.entry(folder).or_default().push((name, entry));
            if *entry == Entry::Folder {
                below.entry(path).or_default();
            }
        }
        let mut objects = Vec::new();
        let root = encode("", &below, &mut objects);
        (root, objects)
    }

    /// Reads the tree back; `read` gives the bytes of an object.
    pub fn load(root: &ObjectId, objects: &dyn ObjectReader) -> io::Result<Self> {
        let mut found = BTreeMap::new();
        let mut folders = vec![(String::new(), root.clone())];
        while let Some((path, id)) = folders.pop() {
            let bytes = objects.read(&id)?;
            let folder: Folder = serde_json::from_slice(&bytes)?;
            for (name, node) in folder.0 {
                if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
                    return Err(io::Error::other(format!("a folder has an entry named `{name}`")));
                }
                let path = if path.is_empty() {
                    name
                } else {
                    format!("{path}/{name}")
                };
                match node {
                    Node::Below { folder } => {
                        folders.push((path.clone(), folder));
                        found.insert(path, Entry::Folder);
                    }
                    Node::Entry(entry) => {
                        found.insert(path, entry);
                    }
                }
            }
        }
        Ok(Self(found))
    }

    /// The ids of the folders that a folder's object names.
    pub fn folders_in(bytes: &[u8]) -> io::Result<Vec<ObjectId>> {
        let folder: Folder = serde_json::from_slice(bytes)?;
        let below = folder.0.into_values().filter_map(|node| match node {
            Node::Below { folder } => Some(folder),
            Node::Entry(_) => None,
        });
        Ok(below.collect())
    }

    /// The ids of all files.
    pub fn file_ids(&self) -> impl Iterator<Item = (&str, &ObjectId, u64)> {
        self.0.iter().filter_map(|(path, entry)| match entry {
            Entry::File { id, size, .. } => Some((path.as_str(), id, *size)),
            Entry::Link { .. } | Entry::Folder => None,
        })
    }
}

fn encode(
    path: &str,
    below: &BTreeMap<&str, Vec<(&str, &Entry)>>,
    objects: &mut Vec<(ObjectId, Vec<u8>)>,
) -> ObjectId {
    let mut folder = BTreeMap::new();
    for (name, entry) in below.get(path).into_iter().flatten() {
        let node = if **entry == Entry::Folder {
            let path = if path.is_empty() {
                (*name).to_owned()
            } else {
                format!("{path}/{name}")
            };
            Node::Below {
                folder: encode(&path, below, objects),
            }
        } else {
            Node::Entry((*entry).clone())
        };
        folder.insert((*name).to_owned(), node);
    }
    let bytes = serde_json::to_vec(&Folder(folder)).expect("plain data");
    let id = ObjectId::of_bytes(&bytes);
    objects.push((id.clone(), bytes));
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    struct Memory(HashMap<ObjectId, Vec<u8>>);

    impl ObjectReader for Memory {
        fn read(&self, id: &ObjectId) -> io::Result<Vec<u8>> {
            self.0.get(id).cloned().ok_or_else(|| io::Error::other("missing"))
        }

        fn copy_to(&self, _: &ObjectId, _: &mut dyn io::Write) -> io::Result<u64> {
            unreachable!("only trees are read")
        }
    }

    fn file(text: &str) -> Entry {
        Entry::File {
            id: ObjectId::of_bytes(text.as_bytes()),
            executable: false,
            size: text.len() as u64,
        }
    }

    #[test]
    fn a_tree_comes_back_and_a_change_moves_one_path_of_it() {
        let mut snapshot = Snapshot::default();
        let entries = [
            ("a", Entry::Folder),
            ("a/b", Entry::Folder),
            ("a/b/x", file("x")),
            ("a.txt", file("y")),
            ("empty", Entry::Folder),
            ("link", Entry::Link { to: "a/b".into() }),
        ];
        snapshot
            .0
            .extend(entries.map(|(path, entry)| (path.to_owned(), entry)));
        let (root, objects) = snapshot.objects();
        let memory = Memory(objects.iter().cloned().collect());
        assert_eq!(Snapshot::load(&root, &memory).unwrap(), snapshot);
        let before: Vec<_> = objects.into_iter().map(|(id, _)| id).collect();
        snapshot.0.insert("a/b/x".into(), file("changed"));
        let (_, after) = snapshot.objects();
        let new = after.iter().filter(|(id, _)| !before.contains(id)).count();
        assert_eq!(new, 3, "the folder, the one above, and the root");
    }

    #[test]
    fn names_that_lead_outside_are_refused() {
        for name in ["..", ".", "a/b", "", "/etc"] {
            let bytes = serde_json::to_vec(&BTreeMap::from([(name, file("x"))])).unwrap();
            let id = ObjectId::of_bytes(&bytes);
            let memory = Memory(HashMap::from([(id.clone(), bytes)]));
            assert!(Snapshot::load(&id, &memory).is_err(), "{name}");
        }
    }
}
