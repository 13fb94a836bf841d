//! Ids that count upwards by one from row to row: `TASK-0001`, `TASK-0002`, … Refuses every other column of ids.

use crate::id::TaskIx;
use crate::sheet::Sheet;

/// More digits than any row's number has.
const MAX_DIGITS: usize = 12;

/// Row `n` has the id `prefix` + (`first` + n), the number filled up with zeros to `digits` digits.
#[derive(Clone, Debug)]
pub(in crate::plan) struct Counting {
    prefix: String,
    digits: usize,
    first: u64,
    rows: u32,
}

impl Counting {
    pub fn of(sheet: &Sheet, column: usize) -> Option<Self> {
        let rows = u32::try_from(sheet.rows()).ok().filter(|rows| *rows > 0)?;
        let start = sheet.cell(0, column);
        let digits = start.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, number) = start.split_at(start.len() - digits);
        let counting = Self {
            prefix: prefix.to_owned(),
            digits,
            first: value(number.as_bytes())?,
            rows,
        };
        let mut expected = start.as_bytes().to_vec();
        for row in 1..sheet.rows() {
            count_up(&mut expected, prefix.len());
            if sheet.cell(row, column).as_bytes() != expected {
                return None;
            }
        }
        Some(counting)
    }

    pub fn find(&self, id: &str) -> Option<TaskIx> {
        let number = id.as_bytes().strip_prefix(self.prefix.as_bytes())?;
        // The one way to write each number: as many zeros before it as the width asks for.
        if number.len() < self.digits || (number.len() > self.digits && number[0] == b'0') {
            return None;
        }
        let row = value(number)?.checked_sub(self.first)?;
        u32::try_from(row).ok().filter(|row| *row < self.rows).map(TaskIx)
    }
}

fn value(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > MAX_DIGITS || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |n, d| n * 10 + u64::from(d - b'0')))
}

/// Adds one to the number that starts at `at` and goes to the end.
fn count_up(id: &mut Vec<u8>, at: usize) {
    for digit in id[at..].iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
    id.insert(at, b'1');
}
