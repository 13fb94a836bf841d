//! Finds what a turn changed by comparing its folders, and sends it to the coordinator.

use super::host_files::HostFiles;
use super::mirror::Mirror;
use super::slot::{Slot, mapped_text};
use crate::files::{Change, Changes, Entry, MAPPED_BYTES, scan};
use crate::git::{self, GitBack};
use crate::objects::{Content, INLINE_OBJECT, INLINE_TOTAL, ObjectId, StoreError};
use crate::task::{ReturnedChanges, RootKind, is_shared};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The results of a turn: the manifest, and objects that become part of the message.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// `None`: nothing changed.
    pub manifest: Option<ObjectId>,
    pub inline: Vec<(ObjectId, Vec<u8>)>,
}

impl Mirror {
    /// Whether something of it belongs to the project itself.
    fn is_of_project(&self, returned: &ReturnedChanges) -> bool {
        let project = |path: &Path| {
            let mut roots = self.before.iter().map(|(root, _)| root);
            roots.any(|root| root.kind == RootKind::Project && root.path == path)
        };
        returned.git.is_some() || returned.roots.iter().any(|(path, _)| project(path))
    }

    /// The worker's changes, and their objects. Blocks.
    pub fn compare(
        &self,
        files: &HostFiles,
        slot: &Slot,
    ) -> io::Result<(ReturnedChanges, Vec<(ObjectId, Content)>)> {
        let mut hashes = slot.hashes();
        let back = self.map.reversed();
        let mut returned = ReturnedChanges::default();
        let mut objects = Vec::new();
        for (root, before) in self.before.iter().filter(|(root, _)| root.kind.comes_back()) {
            let path = self.map.path(&root.path);
            let selection = root.kind.selection(&root.include, &root.also);
            let after = scan(&path, &selection, &mut hashes).map_err(io::Error::other)?;
            let mut changes = Changes::between(before, &after.snapshot);
            for (name, change) in &mut changes.0 {
                let Change::Put {
                    entry: Entry::File { id, size, .. },
                } = change
                else {
                    continue;
                };
                let file = path.join(name.as_str());
                if root.kind == RootKind::Session
                    && is_shared(name)
                    && let Some(added) = appended(&file, before.0.get(name.as_str()))?
                {
                    let bytes = back.bytes(&added).into_owned();
                    let id = ObjectId::of_bytes(&bytes);
                    objects.push((id.clone(), Content::Bytes(bytes)));
                    *change = Change::Append { id };
                    continue;
                }
                let mapped = if *size <= MAPPED_BYTES {
                    mapped_text(&fs::read(&file)?, &back)
                } else {
                    None
                };
                if let Some(bytes) = mapped {
                    *id = ObjectId::of_bytes(&bytes);
                    *size = bytes.len() as u64;
                    objects.push((id.clone(), Content::Bytes(bytes)));
                } else {
                    objects.push((id.clone(), Content::File(file)));
                }
            }
            if !changes.0.is_empty() {
                returned.roots.push((root.path.clone(), changes));
            }
        }
        if let Some((state, top)) = &self.git
            && let Some((Some(commit), branch)) = git::head(top)
            && Some(&commit) != state.commit.as_ref()
        {
            let folder = files.state.join("bundles");
            fs::create_dir_all(&folder)?;
            let file = folder.join(format!("{commit}-{}.bundle", slot.number));
            git::bundle(top, &file, &commit, state.commit.as_deref())?;
            let bundle = ObjectId::of_reader(&mut fs::File::open(&file)?)?;
            objects.push((bundle.clone(), Content::File(file)));
            returned.git = Some(GitBack {
                top: state.top.clone(),
                branch,
                before: state.commit.clone(),
                commit,
                bundle,
            });
        }
        Ok((returned, objects))
    }
}

/// The bytes appended to a file, if its beginning is unchanged.
fn appended(file: &Path, before: Option<&Entry>) -> io::Result<Option<Vec<u8>>> {
    let bytes = fs::read(file)?;
    let Some(Entry::File { id, size, .. }) = before else {
        return Ok(Some(bytes));
    };
    let length = usize::try_from(*size).unwrap_or(usize::MAX);
    let old = bytes.get(..length).filter(|old| ObjectId::of_bytes(old) == *id);
    Ok(old.map(|_| bytes[length..].to_vec()))
}

/// Sends the results of a turn. Small ones become part of the message, unless the coordinator of another machine may need
/// them.
pub(super) async fn return_changes(
    files: Arc<HostFiles>,
    slot: Arc<Slot>,
    mirror: Arc<Mirror>,
) -> Result<Sent, StoreError> {
    let in_task = Arc::clone(&files);
    let compared = Arc::clone(&mirror);
    let compared = tokio::task::spawn_blocking(move || compared.compare(&in_task, &slot)).await;
    let (returned, mut objects) = compared.map_err(io::Error::other)??;
    if returned == ReturnedChanges::default() {
        return Ok(Sent::default());
    }
    let bytes = serde_json::to_vec(&returned).expect("plain data");
    let id = ObjectId::of_bytes(&bytes);
    objects.push((id.clone(), Content::Bytes(bytes)));
    let mut sent = Sent {
        manifest: Some(id),
        inline: Vec::new(),
    };
    if mirror.is_of_project(&returned) || !is_small(&objects)? {
        files.store.put(objects).await?;
        return Ok(sent);
    }
    for (id, content) in objects {
        sent.inline.push((id.clone(), content.read(&id)?));
    }
    Ok(sent)
}

fn is_small(objects: &[(ObjectId, Content)]) -> io::Result<bool> {
    let mut total = 0;
    for (_, content) in objects {
        let size = match content {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::File(path) => fs::metadata(path)?.len(),
        };
        total += size;
        if size > INLINE_OBJECT || total > INLINE_TOTAL {
            return Ok(false);
        }
    }
    Ok(true)
}
