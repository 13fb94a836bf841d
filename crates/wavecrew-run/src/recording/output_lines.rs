//! The lines of one turn's output in bounded memory: the beginning and the end are kept.

use super::OutputLine;
use std::collections::VecDeque;

/// Bytes kept of the beginning, and as many of the end.
const HALF: usize = 2 << 20;
/// A longer line is dropped: half of it could not be parsed.
const MAX_LINE: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct OutputLines {
    head: Vec<OutputLine>,
    tail: VecDeque<OutputLine>,
    head_bytes: usize,
    tail_bytes: usize,
    half: usize,
    /// The incomplete last lines of the two streams.
    partial: [Vec<u8>; 2],
    /// Whether the incomplete line is already too long.
    too_long: [bool; 2],
    dropped: u64,
}

impl Default for OutputLines {
    fn default() -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_bytes: 0,
            tail_bytes: 0,
            half: HALF,
            partial: Default::default(),
            too_long: Default::default(),
            dropped: 0,
        }
    }
}

impl OutputLines {
    pub fn add(&mut self, is_stderr: bool, chunk: &[u8]) {
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            let partial = &mut self.partial[usize::from(is_stderr)];
            let too_long = &mut self.too_long[usize::from(is_stderr)];
            *too_long |= partial.len() + piece.len() > MAX_LINE;
            if *too_long {
                partial.clear();
            } else {
                partial.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                self.end_line(is_stderr);
            }
        }
    }

    /// The lines, and how many were dropped.
    pub fn finish(mut self) -> (Vec<OutputLine>, u64) {
        for is_stderr in [false, true] {
            if !self.partial[usize::from(is_stderr)].is_empty() || self.too_long[usize::from(is_stderr)] {
                self.end_line(is_stderr);
            }
        }
        self.head.extend(self.tail);
        (self.head, self.dropped)
    }

    fn end_line(&mut self, is_stderr: bool) {
        let line = std::mem::take(&mut self.partial[usize::from(is_stderr)]);
        if std::mem::take(&mut self.too_long[usize::from(is_stderr)]) {
            self.dropped += 1;
            return;
        }
        let text = String::from_utf8_lossy(&line).into_owned();
        let length = text.len();
        let line = if is_stderr {
            OutputLine::Err(text)
        } else {
            OutputLine::Out(text)
        };
        if self.tail.is_empty() && self.head_bytes + length <= self.half {
            self.head_bytes += length;
            self.head.push(line);
            return;
        }
        self.tail_bytes += length;
        self.tail.push_back(line);
        while self.tail_bytes > self.half
            && let Some(OutputLine::Out(text) | OutputLine::Err(text)) = self.tail.pop_front()
        {
            self.tail_bytes -= text.len();
            self.dropped += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_complete_and_in_order() {
        for size in [1, 3, 100] {
            let mut lines = OutputLines::default();
            for chunk in b"one\ntwo".chunks(size) {
                lines.add(false, chunk);
            }
            lines.add(true, b"oh\n");
            let out = |text: &str| OutputLine::Out(text.into());
            let expected = vec![out("one\n"), OutputLine::Err("oh\n".into()), out("two")];
            assert_eq!(lines.finish(), (expected, 0));
        }
    }

    #[test]
    fn both_ends_of_long_output_are_kept() {
        let mut lines = OutputLines {
            half: 8,
            ..OutputLines::default()
        };
        for number in 0..10 {
            lines.add(false, format!("{number}..\n").as_bytes());
        }
        lines.add(false, &vec![b'x'; MAX_LINE + 1]);
        let (kept, dropped) = lines.finish();
        let expected = ["0..\n", "1..\n", "8..\n", "9..\n"];
        assert_eq!(kept, expected.map(|line| OutputLine::Out(line.into())));
        assert_eq!(dropped, 7);
    }
}
