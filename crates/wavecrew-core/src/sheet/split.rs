//! Finds the bytes that part a table's text, many at a time: fields are short, and a search that stops at each of
//! them and starts anew costs more than the fields themselves.

use wide::u8x16;

const BLOCK: usize = 64;

/// The places of commas, line feeds and quotes, in order.
pub(super) struct Separators<'a> {
    bytes: &'a [u8],
    /// Where the current block starts, and a bit for each separator in it that is still to be given.
    block: usize,
    found: u64,
}

impl<'a> Separators<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        let found = bits(bytes);
        Self {
            bytes,
            block: 0,
            found,
        }
    }
}

impl Iterator for Separators<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.found == 0 {
            self.block += BLOCK;
            self.found = bits(self.bytes.get(self.block..)?);
        }
        let at = self.block + self.found.trailing_zeros() as usize;
        self.found &= self.found - 1;
        Some(at)
    }
}

/// A bit for each of the first bytes that is a separator.
#[inline]
fn bits(bytes: &[u8]) -> u64 {
    let Some(block) = bytes.first_chunk::<BLOCK>() else {
        let is_separator = |(n, b): (usize, &u8)| u64::from(matches!(b, b',' | b'\n' | b'"')) << n;
        return bytes.iter().enumerate().map(is_separator).sum();
    };
    let (quarters, _) = block.as_chunks::<16>();
    quarters.iter().enumerate().fold(0, |found, (n, quarter)| {
        let quarter = u8x16::new(*quarter);
        let is = |byte| quarter.simd_eq(u8x16::splat(byte));
        let here = is(b',') | is(b'\n') | is(b'"');
        found | u64::from(here.to_bitmask()) << (16 * n)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_separator_is_found_once(text in "[a,\n\"\u{e9}]{0,200}|[a-c]{150}[,b]{100}") {
            let expected: Vec<usize> = text
                .bytes()
                .enumerate()
                .filter(|(_, b)| matches!(b, b',' | b'\n' | b'"'))
                .map(|(at, _)| at)
                .collect();
            let found: Vec<usize> = Separators::new(text.as_bytes()).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
