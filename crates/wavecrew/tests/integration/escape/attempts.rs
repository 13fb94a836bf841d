//! The attempts, as data: a name, a line for `sh -c` that succeeds if the worker escaped, and what has to be there to
//! prevent it. `$V` is a folder of somebody else, `$P` the project, `$S` the session folder.

/// What the kernel has to offer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Landlock,
    Mounts,
    Seccomp,
}
use Needs::{Landlock, Mounts, Seccomp};

pub type Attempt = (&'static str, Needs, &'static str);

/// Attempts that must fail at every access level.
pub const NOBODY: &[Attempt] = &[
    // Files of others.
    ("overwrite", Landlock, "echo x > $V/file"),
    ("append", Landlock, "echo x >> $V/file"),
    ("create", Landlock, "echo x > $V/new"),
    ("delete", Landlock, "rm -f $V/file; [ ! -e $V/file ]"),
    ("delete-tree", Landlock, "rm -rf $V/folder; [ ! -e $V/folder ]"),
    ("rename", Landlock, "mv $V/file $V/moved"),
    (
        "move-away",
        Landlock,
        "mv $V/file $TMPDIR/stolen; [ ! -e $V/file ]",
    ),
    ("move-in", Landlock, "echo x > $TMPDIR/x; mv $TMPDIR/x $V/x"),
    ("make-folder", Landlock, "mkdir $V/new-folder"),
    ("remove-folder", Landlock, "rmdir $V/empty"),
    ("make-link", Landlock, "ln -s /etc/passwd $V/link"),
    (
        "hard-link",
        Landlock,
        "ln $V/file $TMPDIR/hard && echo x > $TMPDIR/hard",
    ),
    (
        "through-link",
        Landlock,
        "ln -s $V/file $TMPDIR/soft && echo x > $TMPDIR/soft",
    ),
    (
        "through-folder-link",
        Landlock,
        "ln -s $V $TMPDIR/there && echo x > $TMPDIR/there/new",
    ),
    ("truncate", Landlock, "truncate -s 0 $V/file"),
    (
        "in-place",
        Landlock,
        "dd if=/dev/zero of=$V/file bs=1 count=1 conv=notrunc",
    ),
    ("edit", Landlock, "sed -i s/o/x/ $V/file"),
    ("make-pipe", Landlock, "mkfifo $V/pipe"),
    ("copy-program", Landlock, "cp /bin/true $V/program"),
    ("proc-root", Landlock, "echo x > /proc/self/root$V/file"),
    ("proc-root-of-shell", Landlock, "echo x > /proc/$$/root$V/new"),
    ("proc-cwd", Landlock, "cd $V && echo x > /proc/self/cwd/file"),
    ("dots", Landlock, "cd $P && echo x > ../victim/file"),
    ("permissions", Mounts, "chmod 777 $V/file"),
    ("owner", Mounts, "chown 12345 $V/file"),
    ("timestamp", Mounts, "touch -d 2001-01-01 $V/file"),
    (
        "temporary-folder-of-others",
        Landlock,
        "echo x > /tmp/wavecrew-escape-$$",
    ),
    // Start-up files, schedules, services.
    ("bashrc", Landlock, "echo x >> ~/.bashrc"),
    ("profile", Landlock, "echo x > ~/.profile"),
    ("bash-profile", Landlock, "echo x > ~/.bash_profile"),
    ("zshrc", Landlock, "echo x > ~/.zshrc"),
    (
        "autostart",
        Landlock,
        "mkdir -p ~/.config/autostart && echo x > ~/.config/autostart/x.desktop",
    ),
    (
        "user-unit",
        Landlock,
        "mkdir -p ~/.config/systemd/user && echo x > ~/.config/systemd/user/x.service",
    ),
    ("system-profile", Landlock, "echo x > /etc/profile.d/x.sh"),
    ("cron", Landlock, "echo x > /etc/cron.d/x"),
    (
        "crontab",
        Landlock,
        "mkdir -p /var/spool/cron && echo x > /var/spool/cron/root",
    ),
    ("preload", Landlock, "echo /tmp/x.so > /etc/ld.so.preload"),
    (
        "git-config-of-the-user",
        Landlock,
        "git config --global core.pager x",
    ),
    ("ssh-config", Landlock, "echo x > ~/.ssh/config"),
    ("authorized-keys", Landlock, "echo x >> ~/.ssh/authorized_keys"),
    // Programs on the search path, and this one.
    (
        "path-home",
        Landlock,
        "mkdir -p ~/.local/bin && cp /bin/true ~/.local/bin/git",
    ),
    ("path-system", Landlock, "cp /bin/true /usr/local/bin/git"),
    ("own-program", Landlock, "echo x >> $(command -v wavecrew)"),
    (
        "own-folder",
        Landlock,
        "cp /bin/true $(dirname $(command -v wavecrew))/git",
    ),
    ("own-settings", Mounts, "echo x >> $P/wavecrew.toml"),
    ("own-settings-away", Mounts, "mv $P/wavecrew.toml $P/other.toml"),
    // Credentials.
    ("read-ssh-key", Landlock, "cat ~/.ssh/id"),
    ("read-aws", Landlock, "cat ~/.aws/credentials"),
    ("read-gh", Landlock, "cat ~/.config/gh/hosts.yml"),
    ("read-netrc", Landlock, "grep . ~/.netrc"),
    ("read-gnupg", Landlock, "cat ~/.gnupg/secring"),
    ("read-codex-login", Landlock, "cat ~/.codex/auth.json"),
    ("read-claude-login", Landlock, "cat ~/.claude/.credentials.json"),
    (
        "read-keyring",
        Landlock,
        "cat ~/.local/share/keyrings/login.keyring",
    ),
    ("read-shadow", Landlock, "grep . /etc/shadow"),
    ("read-by-proc-root", Landlock, "cat /proc/self/root$HOME/.ssh/id"),
    (
        "read-by-link",
        Landlock,
        "ln -s ~/.ssh $TMPDIR/keys && cat $TMPDIR/keys/id",
    ),
    (
        "read-by-hard-link",
        Landlock,
        "ln ~/.ssh/id $TMPDIR/key && cat $TMPDIR/key",
    ),
    (
        "read-by-copy",
        Landlock,
        "cp -r ~/.ssh $TMPDIR/copy && cat $TMPDIR/copy/id",
    ),
    // The session.
    ("journal", Mounts, "echo x >> $S/journal.ndjson"),
    ("journal-away", Mounts, "rm $S/journal.ndjson"),
    ("session-json", Mounts, "echo x > $S/session.json"),
    ("table", Mounts, "echo x >> $S/tasks.csv"),
    ("table-away", Mounts, "mv $S/tasks.csv $S/other.csv"),
    ("table-pipe", Mounts, "rm $S/tasks.csv && mkfifo $S/tasks.csv"),
    ("lock", Mounts, "rm $S/.lock"),
    ("log-of-others", Mounts, "echo x > $S/logs/other.1.log"),
    ("log-link", Mounts, "ln -s $V/file $S/logs/next.1.log"),
    ("logs-folder", Mounts, "mv $S/logs $S/logs2"),
    ("prompt-of-others", Mounts, "echo x > $S/prompts/other.1.1.md"),
    (
        "board-pipe",
        Mounts,
        "rm $S/discoveries.ndjson && mkfifo $S/discoveries.ndjson",
    ),
    ("report-of-others", Mounts, "echo '{}' > $S/.run/other.1.report"),
    ("control-file", Mounts, "echo cancel > $S/.run/control"),
    ("team-file", Mounts, "echo x > $S/.run/team.toml"),
    ("guardian-file", Mounts, "echo x > $S/.run/guardian.json"),
    (
        "token-of-others",
        Mounts,
        "cat $S/.run/token-* | grep -v -F \"$WAVECREW_TOKEN\" | grep .",
    ),
    (
        "inbox-of-others",
        Mounts,
        "for d in $S/.run/in-*; do [ $d = $(dirname $WAVECREW_RESULT_FILE) ] && continue; echo x > $d/result && exit 0; done; exit 1",
    ),
    ("session-away", Mounts, "mv $S $S-moved"),
    ("other-session", Mounts, "mkdir $P/.workflow/.csv-wave/other"),
    ("workflow-away", Mounts, "mv $P/.workflow $P/workflow2"),
    // Git.
    ("hook", Mounts, "echo x > $P/.git/hooks/post-commit"),
    ("hooks-path", Mounts, "cd $P && git config core.hooksPath /tmp"),
    ("fsmonitor", Mounts, "cd $P && git config core.fsmonitor true"),
    (
        "filter",
        Mounts,
        "cd $P && git config filter.x.clean 'touch $V/file'",
    ),
    (
        "attributes",
        Mounts,
        "echo '* filter=x' > $P/.git/info/attributes",
    ),
    ("git-away", Mounts, "mv $P/.git $P/git2"),
    // Other processes.
    ("signal-guardian", Landlock, "kill -0 $PPID_OF_WORKER"),
    ("stop-guardian", Landlock, "kill -STOP $PPID_OF_WORKER"),
    ("signal-coordinator", Landlock, "kill -0 $COORDINATOR"),
    (
        "environment-of-guardian",
        Landlock,
        "cat /proc/$PPID_OF_WORKER/environ | grep -q .",
    ),
    (
        "environment-of-coordinator",
        Landlock,
        "cat /proc/$COORDINATOR/environ | grep -q .",
    ),
    (
        "memory-of-coordinator",
        Landlock,
        "head -c 1 /proc/$COORDINATOR/mem",
    ),
    (
        "files-of-coordinator",
        Landlock,
        "readlink /proc/$COORDINATOR/fd/0",
    ),
    (
        "token-by-environment",
        Landlock,
        "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep WAVECREW_TOKEN= | grep -v -F \"$WAVECREW_TOKEN\"",
    ),
    // Namespaces, mounts, the kernel.
    ("user-namespace", Seccomp, "unshare -U true"),
    ("root-namespace", Seccomp, "unshare -r true"),
    ("mount-namespace", Seccomp, "unshare -m true"),
    ("network-namespace", Seccomp, "unshare -n true"),
    ("pid-namespace", Seccomp, "unshare -f -p true"),
    ("enter-namespace", Seccomp, "nsenter -t $COORDINATOR -m true"),
    ("bind-mount", Seccomp, "mount --bind $TMPDIR $V"),
    ("tmpfs", Seccomp, "mount -t tmpfs none $V"),
    ("remount", Seccomp, "mount -o remount,rw /"),
    ("unmount", Seccomp, "umount -l $P/.workflow"),
    ("chroot", Seccomp, "chroot / true"),
    ("core-pattern", Landlock, "echo x > /proc/sys/kernel/core_pattern"),
    (
        "oom-of-guardian",
        Landlock,
        "echo 1000 > /proc/$PPID_OF_WORKER/oom_score_adj",
    ),
    ("device", Landlock, "mknod $TMPDIR/disk b 8 0"),
    ("device-memory", Landlock, "head -c 1 /dev/mem"),
];

/// What roles that may not change the source must not do.
pub const NO_SOURCE: &[Attempt] = &[
    ("project-file", Landlock, "echo x > $P/src/main.py"),
    ("project-new-file", Landlock, "echo x > $P/new.py"),
    ("project-delete", Landlock, "rm -rf $P/src; [ ! -e $P/src ]"),
    ("project-rename", Landlock, "mv $P/src $P/src2"),
    ("project-chmod", Mounts, "chmod 600 $P/src/main.py"),
    (
        "project-commit",
        Landlock,
        "cd $P && git commit -q --allow-empty -m x",
    ),
    ("project-index", Landlock, "cd $P && git add -A"),
    ("project-branch", Landlock, "cd $P && git branch other"),
    ("project-reset", Landlock, "cd $P && echo x > .git/HEAD"),
    ("project-settings", Landlock, "echo x > $P/wavecrew.toml"),
    ("project-ci", Landlock, "echo x > $P/.github/workflows/ci.yml"),
];

/// What roles that may change the source still must not change.
pub const NO_CI: &[Attempt] = &[("ci-files", Mounts, "echo x > $P/.github/workflows/ci.yml")];

/// System calls by number on this architecture; one that returns 0 or more escaped.
pub const CALLS: &[(&str, i64, [i64; 5])] = &[
    ("ptrace-seize", 101, [0x4206, 1, 0, 0, 0]),
    ("process-vm-readv", 310, [1, 0, 0, 0, 0]),
    ("io-uring", 425, [4, 0, 0, 0, 0]),
    ("bpf", 321, [0, 0, 0, 0, 0]),
    ("keyctl", 250, [0, -3, 0, 0, 0]),
    ("add-key", 248, [0, 0, 0, 0, -3]),
    ("perf-event", 298, [0, 0, -1, -1, 0]),
    ("userfaultfd", 323, [1, 0, 0, 0, 0]),
    ("module", 313, [0, 0, 0, 0, 0]),
    ("kexec", 246, [0, 0, 0, 0, 0]),
    ("unshare-call", 272, [0x1000_0000, 0, 0, 0, 0]),
    ("setns", 308, [0, 0, 0, 0, 0]),
    ("open-tree", 428, [-100, 0, 1, 0, 0]),
    ("fsopen", 430, [0, 0, 0, 0, 0]),
    ("pidfd-getfd", 438, [0, 0, 0, 0, 0]),
    ("syslog", 103, [10, 0, 0, 0, 0]),
    ("acct", 163, [0, 0, 0, 0, 0]),
];
