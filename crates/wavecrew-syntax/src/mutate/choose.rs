//! Chooses a few of many possible mutants: spread over lines and kinds, the most useful first, the same for the same seed.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::MutantKind;
use super::collector::{Candidate, Priority};

/// At most `limit` of the valid ones. Checks validity, which is slow, only for those that would be chosen.
pub fn spread(
    candidates: Vec<Candidate>,
    limit: usize,
    seed: u64,
    is_valid: impl Fn(&Candidate) -> bool,
) -> Vec<Candidate> {
    let mut left: Vec<(u64, Candidate)> = candidates.into_iter().map(|c| (rank(&c, seed), c)).collect();
    if limit >= left.len() {
        return left.into_iter().map(|(_, c)| c).filter(|c| is_valid(c)).collect();
    }
    let mut on_line: BTreeMap<u32, usize> = BTreeMap::new();
    let mut of_kind: BTreeMap<MutantKind, usize> = BTreeMap::new();
    let mut chosen = Vec::new();
    while chosen.len() < limit {
        let key = |(rank, c): &(u64, Candidate)| {
            let lines = on_line.get(&c.line).copied().unwrap_or(0);
            let kinds = of_kind.get(&c.kind).copied().unwrap_or(0);
            // One mutant of low priority is allowed on a line that has no other.
            (lines, c.priority == Priority::Low, kinds, *rank)
        };
        let next = (0..left.len()).min_by_key(|&at| key(&left[at]));
        let Some(next) = next else { break };
        let (_, candidate) = left.swap_remove(next);
        if !is_valid(&candidate) {
            continue;
        }
        *on_line.entry(candidate.line).or_default() += 1;
        *of_kind.entry(candidate.kind).or_default() += 1;
        chosen.push(candidate);
    }
    chosen
}

/// A pseudo-random order that depends only on the seed and the mutant.
fn rank(candidate: &Candidate, seed: u64) -> u64 {
    let name = format!("{:?}{}", candidate.range, candidate.replacement);
    xxh3_64_with_seed(name.as_bytes(), seed)
}
