//! Confined workers: what the kernel refuses, whatever the worker does.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use wavecrew_process::sandbox::{Confinement, LandlockAbi, Network, Support};
use wavecrew_process::{ProcessExit, Spawn};

use crate::support::{TestCoordinator, run};

/// A worker that may write `mine` and reads everything but `secret`.
fn confined(test: &TestCoordinator, support: Support, script: &str) -> Spawn {
    let folder = test.folder.path();
    let mut spawn = test.worker("exit");
    spawn.program = "/bin/sh".into();
    spawn.args = vec!["-c".into(), script.into()];
    spawn.confinement = Some(Arc::new(Confinement {
        support,
        read: ["/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/dev"]
            .map(Into::into)
            .into_iter()
            .chain([folder.join("readable")])
            .collect(),
        write: vec![folder.join("mine"), "/dev/null".into()],
        protect: vec![folder.join("mine/fixed")],
        hide: vec![folder.join("hidden")],
        show: vec![folder.join("hidden/but/shown")],
        network: Network::Off,
        edition: 0,
    }));
    spawn
}

fn make_places(folder: &Path) {
    for place in ["mine/fixed", "readable", "secret", "hidden", "hidden/but/shown"] {
        fs::create_dir_all(folder.join(place)).unwrap();
        fs::write(folder.join(place).join("file"), "old").unwrap();
    }
}

/// The scripts that succeeded although they must not, or failed although they must not.
fn surprises(support: Support, scripts: &[(&str, bool)]) -> Vec<String> {
    run(async {
        let mut test = TestCoordinator::start().await;
        make_places(test.folder.path());
        let mut surprises = Vec::new();
        for (key, (script, allowed)) in scripts.iter().enumerate() {
            let spawn = confined(&test, support, script);
            test.guardian.spawn(key as u64, spawn).unwrap();
            test.spawned().await;
            let (_, exit, _) = test.exited().await;
            if (exit == ProcessExit::Code(0)) != *allowed {
                surprises.push(format!("{script}: {exit:?}"));
            }
        }
        surprises
    })
}

#[test]
fn a_worker_changes_only_its_own_places() {
    let support = Support::detect();
    if support.landlock < LandlockAbi(3) {
        eprintln!("not checked: the kernel has no Landlock");
        return;
    }
    let found = surprises(
        support,
        &[
            (
                "echo new > mine/file && mkdir mine/a && mv mine/file mine/a/",
                true,
            ),
            (
                "cat readable/file && ls secret && cat /etc/passwd > /dev/null",
                true,
            ),
            ("(echo x) && sleep 0 & wait && kill -0 $$", true),
            ("echo new > readable/file", false),
            ("echo new > readable/other", false),
            ("rm readable/file", false),
            ("mv readable/file mine/", false),
            ("ln readable/file mine/link && echo new > mine/link", false),
            (
                "ln -s ../readable/file mine/link2 && echo new > mine/link2",
                false,
            ),
            ("cat secret/file", false),
            ("cat /proc/self/root$PWD/secret/file", false),
            ("kill -0 $PPID", false),
            ("cat /proc/$PPID/environ", false),
            ("unshare -r true", false),
            ("unshare -m true", false),
        ],
    );
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn mounts_protect_what_landlock_cannot() {
    let support = Support::detect();
    if !support.mounts {
        eprintln!("not checked: this user cannot make mount namespaces");
        return;
    }
    let found = surprises(
        support,
        &[
            ("echo new > mine/top && chmod 600 mine/top", true),
            ("cat mine/fixed/file", true),
            ("chmod 777 readable/file", false),
            ("touch -d 2001-01-01 readable/file", false),
            ("echo new > mine/fixed/file", false),
            ("mv mine/fixed mine/other", false),
            ("rm -r mine/fixed", false),
            ("ls hidden | grep file", false),
            ("ls hidden/but/shown | grep file", true),
            ("touch hidden/new", false),
        ],
    );
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn an_older_kernel_enforces_what_it_has() {
    let support = Support {
        landlock: LandlockAbi(1).min(Support::detect().landlock),
        mounts: false,
        seccomp: false,
    };
    if !support.any() {
        return;
    }
    let found = surprises(
        support,
        &[
            ("echo new > mine/file", true),
            ("echo new > readable/file", false),
            ("kill -0 $PPID", true),
        ],
    );
    assert!(found.is_empty(), "{found:#?}");
}
