//! Picks a few of many possible changes: over all lines and kinds, the telling ones first, the same for the same seed.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::MutantKind;
use super::collect::{Candidate, Worth};

/// At most `limit` of those that are `sound`. The costly question is asked only of those that would be taken.
pub fn spread(
    candidates: Vec<Candidate>,
    limit: usize,
    seed: u64,
    is_sound: impl Fn(&Candidate) -> bool,
) -> Vec<Candidate> {
    let mut left: Vec<(u64, Candidate)> = candidates.into_iter().map(|c| (lot(&c, seed), c)).collect();
    if limit >= left.len() {
        return left.into_iter().map(|(_, c)| c).filter(|c| is_sound(c)).collect();
    }
    let mut on_line: BTreeMap<u32, usize> = BTreeMap::new();
    let mut of_kind: BTreeMap<MutantKind, usize> = BTreeMap::new();
    let mut chosen = Vec::new();
    while chosen.len() < limit {
        let key = |(lot, c): &(u64, Candidate)| {
            let lines = on_line.get(&c.line).copied().unwrap_or(0);
            let kinds = of_kind.get(&c.kind).copied().unwrap_or(0);
            // A line that nothing else can be changed on may be had with little worth, once.
            (lines, c.worth == Worth::Little, kinds, *lot)
        };
        let next = (0..left.len()).min_by_key(|&at| key(&left[at]));
        let Some(next) = next else { break };
        let (_, candidate) = left.swap_remove(next);
        if !is_sound(&candidate) {
            continue;
        }
        *on_line.entry(candidate.line).or_default() += 1;
        *of_kind.entry(candidate.kind).or_default() += 1;
        chosen.push(candidate);
    }
    chosen
}

/// Chance that depends on nothing but the seed and the change.
fn lot(candidate: &Candidate, seed: u64) -> u64 {
    let name = format!("{:?}{}", candidate.range, candidate.replacement);
    xxh3_64_with_seed(name.as_bytes(), seed)
}
