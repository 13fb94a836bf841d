//! The output of one turn, line by line, in memory that is bounded: its beginning and its end are kept.

use super::Printed;
use std::collections::VecDeque;

/// Bytes of the beginning, and as many of the end.
const HALF: usize = 2 << 20;
/// A longer line is left out whole: half of one would not be understood.
const LONGEST: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Tape {
    head: Vec<Printed>,
    tail: VecDeque<Printed>,
    head_bytes: usize,
    tail_bytes: usize,
    half: usize,
    /// Lines of the two streams that have no end yet.
    open: [Vec<u8>; 2],
    /// Whether the line that has no end yet is too long already.
    spoilt: [bool; 2],
    left_out: u64,
}

impl Default for Tape {
    fn default() -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_bytes: 0,
            tail_bytes: 0,
            half: HALF,
            open: Default::default(),
            spoilt: Default::default(),
            left_out: 0,
        }
    }
}

impl Tape {
    pub fn take_in(&mut self, is_stderr: bool, chunk: &[u8]) {
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            let open = &mut self.open[usize::from(is_stderr)];
            let spoilt = &mut self.spoilt[usize::from(is_stderr)];
            *spoilt |= open.len() + piece.len() > LONGEST;
            if *spoilt {
                open.clear();
            } else {
                open.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                self.end_line(is_stderr);
            }
        }
    }

    /// What was printed, and how many lines are missing.
    pub fn finish(mut self) -> (Vec<Printed>, u64) {
        for is_stderr in [false, true] {
            if !self.open[usize::from(is_stderr)].is_empty() || self.spoilt[usize::from(is_stderr)] {
                self.end_line(is_stderr);
            }
        }
        self.head.extend(self.tail);
        (self.head, self.left_out)
    }

    fn end_line(&mut self, is_stderr: bool) {
        let line = std::mem::take(&mut self.open[usize::from(is_stderr)]);
        if std::mem::take(&mut self.spoilt[usize::from(is_stderr)]) {
            self.left_out += 1;
            return;
        }
        let text = String::from_utf8_lossy(&line).into_owned();
        let length = text.len();
        let line = if is_stderr {
            Printed::Err(text)
        } else {
            Printed::Out(text)
        };
        if self.tail.is_empty() && self.head_bytes + length <= self.half {
            self.head_bytes += length;
            self.head.push(line);
            return;
        }
        self.tail_bytes += length;
        self.tail.push_back(line);
        while self.tail_bytes > self.half
            && let Some(Printed::Out(text) | Printed::Err(text)) = self.tail.pop_front()
        {
            self.tail_bytes -= text.len();
            self.left_out += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_and_in_their_order() {
        for size in [1, 3, 100] {
            let mut tape = Tape::default();
            for chunk in b"one\ntwo".chunks(size) {
                tape.take_in(false, chunk);
            }
            tape.take_in(true, b"oh\n");
            let out = |text: &str| Printed::Out(text.into());
            let lines = vec![out("one\n"), Printed::Err("oh\n".into()), out("two")];
            assert_eq!(tape.finish(), (lines, 0));
        }
    }

    #[test]
    fn of_long_output_both_ends_are_kept() {
        let mut tape = Tape {
            half: 8,
            ..Tape::default()
        };
        for number in 0..10 {
            tape.take_in(false, format!("{number}..\n").as_bytes());
        }
        tape.take_in(false, &vec![b'x'; LONGEST + 1]);
        let (lines, left_out) = tape.finish();
        let expected = ["0..\n", "1..\n", "8..\n", "9..\n"];
        assert_eq!(lines, expected.map(|line| Printed::Out(line.into())));
        assert_eq!(left_out, 7);
    }
}
