//! A person at a terminal: a real one, as far as the program can tell.

use crate::lifecycle::lab::Lab;
use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_mins(3);
const UP: &str = "\x1b[A";
const DOWN: &str = "\x1b[B";
const ENTER: &str = "\r";

struct Terminal {
    child: Child,
    keys: File,
    screen: Arc<Mutex<String>>,
    /// How much of the screen was answered.
    read: usize,
}

impl Terminal {
    fn start(lab: &Lab, words: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize {
            ws_row: 40,
            ws_col: 120,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let other = File::options()
            .read(true)
            .write(true)
            .custom_flags(OFlags::NOCTTY.bits().cast_signed())
            .open(name.to_str().unwrap())
            .unwrap();
        let end = || Stdio::from(other.try_clone().unwrap());
        let mut command = lab.command(words);
        command
            .env("TERM", "xterm")
            .env_remove("NO_COLOR")
            .env_remove("CI");
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let keys = File::from(master);
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut from, into) = (keys.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // An error is how a terminal says that nobody is there any more.
            while let Ok(n @ 1..) = from.read(&mut bytes) {
                into.lock()
                    .unwrap()
                    .push_str(&String::from_utf8_lossy(&bytes[..n]));
            }
        });
        Self {
            child,
            keys,
            screen,
            read: 0,
        }
    }

    /// Waits for a text that comes after the keys that were pressed.
    fn sees(&mut self, text: &str) -> &mut Self {
        let since = Instant::now();
        loop {
            let screen = self.screen.lock().unwrap().clone();
            let plain = plain(&screen[self.read..]);
            if plain.contains(text) {
                return self;
            }
            assert!(
                since.elapsed() < PATIENCE && self.child.try_wait().unwrap().is_none(),
                "{text:?} is not in {plain}"
            );
            std::thread::sleep(Duration::from_millis(3));
        }
    }

    fn press(&mut self, keys: &[&str]) -> &mut Self {
        // What is there now was answered.
        self.read = self.screen.lock().unwrap().len();
        self.keys.write_all(keys.concat().as_bytes()).unwrap();
        self
    }

    fn ends(&mut self, code: i32) {
        let since = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(since.elapsed() < PATIENCE, "{}", self.screen.lock().unwrap());
            std::thread::sleep(Duration::from_millis(3));
        }
        let ended = self.child.wait().unwrap();
        assert_eq!(ended.code(), Some(code), "{}", self.screen.lock().unwrap());
    }
}

/// Without what a terminal obeys.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '\x1b' {
            let _ = rest.find(char::is_ascii_alphabetic);
        } else {
            plain.push(c);
        }
    }
    plain
}

fn begin(lab: &Lab, more: &[&str]) -> Terminal {
    let agent = lab.agent();
    let mut words = vec!["lifecycle", "--pipeline", "spec-only"];
    words.extend(more);
    words.extend(["--agent", &agent, "Tag notes"]);
    let mut terminal = Terminal::start(lab, &words);
    terminal.sees("Run this?").sees("Cancel").press(&[ENTER]);
    terminal
}

#[test]
fn work_is_revised_and_its_documents_are_exported() {
    let lab = Lab::new();
    lab.score("CHECKPOINT-001.1", r#""score":0.2"#);
    let mut terminal = begin(&lab, &[]);
    // The cautious answer is the one that Enter gives; the one above it is the revision.
    terminal
        .sees("CHECKPOINT-001 blocked with 0.2")
        .sees("Stop here")
        .press(&[UP, ENTER]);
    terminal
        .sees("What is to become of the session?")
        .sees("Export")
        .press(&[DOWN, ENTER]);
    terminal.sees("Folder").press(&["out", ENTER]);
    terminal.ends(0);
    assert_eq!(
        lab.decisions()[..2],
        ["CHECKPOINT-001 revise", "CHECKPOINT-001 pass"]
    );
    assert!(lab.project().join("out/spec/epics.md").exists());
}

#[test]
fn a_person_stops_the_run_by_pressing_enter() {
    let lab = Lab::new();
    lab.score("CHECKPOINT-001", r#""score":0.2"#);
    begin(&lab, &[])
        .sees("CHECKPOINT-001 blocked with 0.2")
        .sees("Stop here")
        .press(&[ENTER])
        .ends(3);
    assert_eq!(lab.decisions(), ["CHECKPOINT-001 stop"]);
}

#[test]
fn a_session_is_archived_or_kept() {
    for (keys, state) in [(&[UP, ENTER][..], "archived"), (&[ENTER], "completed")] {
        let lab = Lab::new();
        let mut terminal = begin(&lab, &["--no-supervision"]);
        terminal
            .sees("What is to become of the session?")
            .sees("Export")
            .press(keys);
        terminal.ends(0);
        let info: serde_json::Value = serde_json::from_str(&lab.read("session.json")).unwrap();
        assert_eq!(info["state"], state);
    }
}
