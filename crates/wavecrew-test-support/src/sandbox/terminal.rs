//! A program at a terminal, which looks real to the program.

use super::{wait_for, wait_until};
use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

pub const UP: &str = "\x1b[A";
pub const DOWN: &str = "\x1b[B";
pub const ENTER: &str = "\r";
pub const ESCAPE: &str = "\x1b";

pub struct Terminal {
    child: Child,
    keyboard: File,
    output: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
    /// How much of the visible text was waited for.
    read: usize,
}

impl Terminal {
    /// Starts a command at a new terminal.
    pub fn start(command: &mut Command) -> Self {
        let (keyboard, screen) = open_terminal().expect("a terminal");
        let end = || Stdio::from(screen.try_clone().expect("the terminal's end"));
        command
            .env("TERM", "xterm")
            .env_remove("NO_COLOR")
            .env_remove("CI");
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn();
        // The command must not keep the terminal open: its end is the end of the output.
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let output = Arc::new(Mutex::new(Vec::new()));
        let (mut from, into) = (keyboard.try_clone().expect("the terminal"), Arc::clone(&output));
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // A terminal reports an error when its other end is closed.
            while let Ok(n @ 1..) = from.read(&mut bytes) {
                let mut into = into.lock().unwrap_or_else(PoisonError::into_inner);
                into.extend_from_slice(&bytes[..n]);
            }
        });
        Self {
            child: child.expect("the program starts"),
            keyboard,
            output,
            reader,
            read: 0,
        }
    }

    /// Waits for a text behind the last one that was waited for.
    #[track_caller]
    pub fn expect(&mut self, text: &str) -> &mut Self {
        wait_until(text, || {
            let has_ended = self.reader.is_finished();
            let visible = visible(&self.output());
            let found = visible[self.read..].find(text);
            assert!(found.is_some() || !has_ended, "{text:?} is not in {visible}");
            self.read += found.map_or(0, |at| at + text.len());
            found.is_some()
        });
        self
    }

    pub fn press(&mut self, keys: &str) -> &mut Self {
        self.keyboard
            .write_all(keys.as_bytes())
            .expect("keys are pressed");
        self
    }

    /// Waits for each text and presses the keys that follow it.
    #[track_caller]
    pub fn answer(&mut self, steps: &[(&str, &str)]) -> &mut Self {
        for (text, keys) in steps {
            self.expect(text).press(keys);
        }
        self
    }

    /// Waits for the end of the program. A signal counts as 128 and its number, as in shells.
    #[track_caller]
    pub fn expect_exit(&mut self, code: i32) {
        let ended = wait_for("the program to end", || {
            self.child.try_wait().expect("our own child")
        });
        wait_until("the last output", || self.reader.is_finished());
        let ended = ended.code().or(ended.signal().map(|signal| 128 + signal));
        assert_eq!(ended, Some(code), "{}", self.output());
    }

    /// All output so far, with what a terminal obeys.
    pub fn output(&self) -> String {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&output).into_owned()
    }
}

/// Both ends of a new terminal: the keyboard's and the screen's.
fn open_terminal() -> io::Result<(File, File)> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let size = Winsize {
        ws_row: 50,
        ws_col: 150,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&master, size)?;
    let name = ptsname(&master, Vec::new())?;
    let screen = File::options()
        .read(true)
        .write(true)
        .custom_flags(OFlags::NOCTTY.bits().cast_signed())
        .open(name.to_string_lossy().as_ref())?;
    Ok((File::from(master), screen))
}

/// Without what a terminal obeys.
fn visible(text: &str) -> String {
    let mut visible = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '\x1b' {
            let _ = rest.find(char::is_ascii_alphabetic);
        } else {
            visible.push(c);
        }
    }
    visible
}
