//! The keys of the live view. They arrive without Enter and are not shown; Ctrl-C stays an interrupt.

use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};
use std::io::{self, IsTerminal};

/// What the keys are for.
pub const HELP: &str = "Keys: l log of a worker, l again for the next one, Esc closes it · p pause or resume · q stop, as Ctrl-C · ? this help";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    Help,
    Pause,
    Stop,
    Log,
    Close,
}

/// The keyboard while the live view reads it.
#[derive(Default)]
pub struct Keyboard {
    /// How the terminal was before.
    before: Option<Termios>,
}

impl Keyboard {
    /// The keys pressed since the last time. Begins to read when the program is in the foreground of a terminal.
    pub fn pressed(&mut self) -> Vec<Key> {
        if !is_foreground() {
            return Vec::new();
        }
        if self.before.is_none() {
            self.open();
        }
        if self.before.is_none() {
            return Vec::new();
        }
        let mut bytes = [0; 64];
        let read = rustix::io::read(io::stdin(), &mut bytes).unwrap_or(0);
        keys(&bytes[..read])
    }

    fn open(&mut self) {
        let Ok(before) = tcgetattr(io::stdin()) else {
            return;
        };
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        // A read returns the available bytes and does not wait.
        modes.special_codes[SpecialCodeIndex::VMIN] = 0;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        if tcsetattr(io::stdin(), OptionalActions::Now, &modes).is_ok() {
            self.before = Some(before);
        }
    }

    pub fn is_open(&self) -> bool {
        self.before.is_some()
    }

    /// Leaves the terminal as it was: for a question, and at the end.
    pub fn close(&mut self) {
        if let Some(before) = self.before.take()
            && is_foreground()
        {
            // A closed terminal needs nothing.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.close();
    }
}

/// A job in the background that touches its terminal is stopped. A terminal that is not the program's own has no jobs.
fn is_foreground() -> bool {
    io::stdin().is_terminal()
        && match tcgetpgrp(io::stdin()) {
            Ok(group) => group == getpgrp(),
            Err(error) => error == Errno::NOTTY,
        }
}

fn keys(bytes: &[u8]) -> Vec<Key> {
    let mut found = Vec::new();
    let mut rest = bytes.iter().peekable();
    while let Some(byte) = rest.next() {
        match byte {
            b'?' | b'h' => found.push(Key::Help),
            b'p' => found.push(Key::Pause),
            b'q' => found.push(Key::Stop),
            b'l' => found.push(Key::Log),
            // Arrows and other special keys: a letter or `~` ends them.
            0x1b if rest.next_if(|next| matches!(next, b'[' | b'O')).is_some() => {
                let ends = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'~';
                while rest.next().is_some_and(|byte| !ends(byte)) {}
            }
            0x1b => found.push(Key::Close),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_keys_are_not_taken_for_letters() {
        assert_eq!(
            keys(b"?p\x1b[Alx\x1b[15~q"),
            [Key::Help, Key::Pause, Key::Log, Key::Stop]
        );
        assert_eq!(keys(b"\x1bq\x1b"), [Key::Close, Key::Stop, Key::Close]);
    }
}
