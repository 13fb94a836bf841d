//! A mount namespace in which everything is read-only except the places of a confinement. It also prevents
//! changes that Landlock cannot: chmod, chown, timestamps, and protected files inside a writable folder.

use std::ffi::{CStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, openat};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change, mount_remount,
};
use rustix::thread::UnshareFlags;

use super::Confinement;

/// Moves the calling thread into a mount namespace of its own. Its mounts do not affect the other processes
/// of the machine.
#[expect(
    deprecated,
    reason = "the other form is unsafe because it can split descriptor tables, which this flag does not"
)]
pub(super) fn make_namespace() -> io::Result<()> {
    rustix::thread::unshare(UnshareFlags::NEWNS)?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    Ok(mount_change("/", private)?)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Writable,
    ReadOnly,
    Hidden,
}

pub(super) fn enter(confinement: &Confinement) -> io::Result<()> {
    make_namespace()?;
    let stays = |point: &Path| confinement.write.iter().any(|place| point.starts_with(place));
    let mounts = parse_mounts(&fs::read("/proc/thread-self/mountinfo")?);
    for Mount { point, flags } in &mounts {
        if stays(point) {
            continue;
        }
        let made = mount_remount(point, MountFlags::BIND | MountFlags::RDONLY | *flags, c"");
        // Other mounts may be covered by later ones, or be out of reach.
        if point == Path::new("/") {
            made?;
        }
    }
    for (path, kind) in in_order(confinement) {
        let Ok(found) = fs::metadata(path) else { continue };
        // Restrictions of the mount stay: in a user namespace the kernel does not allow them to be removed.
        let safe = MountFlags::NOSUID | MountFlags::NODEV | flags_at(path, &mounts);
        match kind {
            Kind::Hidden if found.is_dir() => hide_folder(path, &confinement.show)?,
            Kind::Hidden => mount_bind("/dev/null", path)?,
            Kind::Writable => {
                mount_bind_recursive(path, path)?;
                mount_remount(path, MountFlags::BIND | safe, c"")?;
            }
            Kind::ReadOnly => {
                mount_bind_recursive(path, path)?;
                mount_remount(path, MountFlags::BIND | MountFlags::RDONLY | safe, c"")?;
            }
        }
    }
    Ok(())
}

/// Covers a folder with an empty one, in which only the `shown` places inside of it appear.
fn hide_folder(folder: &Path, shown: &[PathBuf]) -> io::Result<()> {
    let is_inside = |path: &Path, folder: &Path| path != folder && path.starts_with(folder);
    let inside: Vec<&PathBuf> = shown.iter().filter(|path| is_inside(path, folder)).collect();
    let outermost = inside
        .iter()
        .filter(|path| !inside.iter().any(|other| is_inside(path, other)));
    let mut kept = Vec::new();
    for path in outermost {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(CWD, path.as_path(), flags, Mode::empty()) {
            Ok(place) => kept.push((path, File::from(place))),
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let safe = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", folder, "tmpfs", safe, None::<&CStr>)?;
    for (path, place) in kept {
        if place.metadata()?.is_dir() {
            fs::create_dir_all(path)?;
        } else {
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            // Without opening it: a program that another thread starts meanwhile would hold it open for writing, and the
            // mount could not become read-only.
            mknodat(CWD, path.as_path(), FileType::RegularFile, Mode::RUSR, 0)?;
        }
        mount_bind_recursive(format!("/proc/self/fd/{}", place.as_raw_fd()), path.as_path())?;
    }
    Ok(mount_remount(
        folder,
        MountFlags::BIND | MountFlags::RDONLY | safe,
        c"",
    )?)
}

/// Outer places first, so that inner ones differ from them. Devices stay as they are: they are writable on read-only
/// mounts, and useless on those that we make.
fn in_order(confinement: &Confinement) -> Vec<(&Path, Kind)> {
    let all = [
        (&confinement.write, Kind::Writable),
        (&confinement.protect, Kind::ReadOnly),
        (&confinement.hide, Kind::Hidden),
    ];
    let is_device = |path: &Path| path.starts_with("/dev") && !path.starts_with("/dev/shm");
    let places = all
        .into_iter()
        .flat_map(|(paths, kind)| paths.iter().map(move |path| (path.as_path(), kind)));
    let mut all: Vec<_> = places.filter(|(path, _)| !is_device(path)).collect();
    all.sort_by_key(|(path, kind)| (path.components().count(), *kind));
    all
}

#[derive(Debug, PartialEq, Eq)]
struct Mount {
    point: PathBuf,
    /// Kept when it is made read-only.
    flags: MountFlags,
}

/// The flags of the mount that a path is on.
fn flags_at(path: &Path, mounts: &[Mount]) -> MountFlags {
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    let nearest = above.max_by_key(|mount| mount.point.components().count());
    nearest.map_or(MountFlags::empty(), |mount| mount.flags)
}

/// The mounts of the kernel's list, which writes spaces in names in octal.
fn parse_mounts(list: &[u8]) -> Vec<Mount> {
    let lines = list.split(|byte| *byte == b'\n');
    let mounts = lines.filter_map(|line| {
        let mut fields = line.split(|byte| *byte == b' ').skip(4);
        let point = unescape(fields.next()?);
        let mut flags = MountFlags::empty();
        for option in fields.next()?.split(|byte| *byte == b',') {
            flags |= match option {
                b"nosuid" => MountFlags::NOSUID,
                b"nodev" => MountFlags::NODEV,
                b"noexec" => MountFlags::NOEXEC,
                b"noatime" => MountFlags::NOATIME,
                b"nodiratime" => MountFlags::NODIRATIME,
                b"relatime" => MountFlags::RELATIME,
                _ => MountFlags::empty(),
            };
        }
        let point = PathBuf::from(OsString::from_vec(point));
        Some(Mount { point, flags })
    });
    mounts.collect()
}

fn unescape(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| byte == b'\\');
        let code = code.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok());
        if let Some(code) = code {
            plain.push(code);
            rest = &after[3..];
        } else {
            plain.push(byte);
            rest = after;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_mounts_is_read() {
        let list = b"1 2 8:1 / / rw,relatime shared:1 - ext4 /dev/vda rw\n3 1 0:4 / /a\\040b rw,nosuid,nodev - tmpfs t rw\n";
        let mounts = parse_mounts(list);
        assert_eq!(mounts[0].point, Path::new("/"));
        assert_eq!(mounts[0].flags, MountFlags::RELATIME);
        assert_eq!(mounts[1].point, Path::new("/a b"));
        assert_eq!(mounts[1].flags, MountFlags::NOSUID | MountFlags::NODEV);
        assert_eq!(flags_at(Path::new("/a b/c"), &mounts), mounts[1].flags);
        assert_eq!(flags_at(Path::new("/etc"), &mounts), mounts[0].flags);
    }

    #[test]
    fn inner_places_come_after_outer_ones() {
        let confinement = Confinement {
            write: vec!["/p".into(), "/p/.workflow/s/wisdom".into(), "/dev/null".into()],
            protect: vec!["/p/.workflow".into(), "/p/.git/hooks".into()],
            ..Confinement::default()
        };
        let paths: Vec<_> = in_order(&confinement).into_iter().map(|(path, _)| path).collect();
        let wanted = ["/p", "/p/.workflow", "/p/.git/hooks", "/p/.workflow/s/wisdom"];
        assert_eq!(paths, wanted.map(Path::new));
    }
}
