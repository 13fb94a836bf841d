//! How much the tests run. By default each behaviour runs at least once, and large matrices are sampled.
//! `WAVECREW_TEST_DEPTH=full` runs everything.
//!
//! A sample depends on its name and on a seed. The seed is printed with the sample; `WAVECREW_TEST_SEED` repeats it.
//! Without that variable the seed is the day, so that all test processes of one run agree and coverage grows over time.

use std::fmt::Debug;
use std::time::SystemTime;

/// Says how much a test run covers: `default` or `full`.
pub const DEPTH: &str = "WAVECREW_TEST_DEPTH";
/// Repeats the samples of an earlier test run.
pub const SEED: &str = "WAVECREW_TEST_SEED";

/// Whether everything runs.
///
/// # Panics
/// If `WAVECREW_TEST_DEPTH` has an unknown value.
pub fn is_full() -> bool {
    match std::env::var(DEPTH).as_deref() {
        Ok("full") => true,
        Ok("default" | "") | Err(_) => false,
        Ok(other) => panic!("{DEPTH}={other}: expected `full` or `default`"),
    }
}

/// The seed of all samples of this test run.
///
/// # Panics
/// If `WAVECREW_TEST_SEED` is not a number.
pub fn seed() -> u64 {
    match std::env::var(SEED) {
        Ok(seed) => seed
            .parse()
            .unwrap_or_else(|_| panic!("{SEED}={seed}: expected a number")),
        Err(_) => today(),
    }
}

/// All items at full depth; otherwise `n` of them, in their order. Prints which, unless nothing is left out.
/// `name` identifies what is sampled: equal names select the same positions of equally long lists.
pub fn sample<T: Debug>(name: &str, items: impl IntoIterator<Item = T>, n: usize) -> Vec<T> {
    let items: Vec<T> = items.into_iter().collect();
    let total = items.len();
    if is_full() || n >= total {
        return items;
    }
    let seed = seed();
    let chosen = positions(name, seed, total, n);
    let mut at = 0..total;
    let sample: Vec<T> = items
        .into_iter()
        .filter(|_| at.next().is_some_and(|at| chosen.contains(&at)))
        .collect();
    println!("{name}: {n} of {total} run: {sample:?} ({SEED}={seed}; {DEPTH}=full runs all)");
    sample
}

/// `n` different positions below `total`.
fn positions(name: &str, seed: u64, total: usize, n: usize) -> Vec<usize> {
    let mut state = name.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
        mix(hash ^ u64::from(byte))
    });
    let mut left: Vec<usize> = (0..total).collect();
    let mut chosen = Vec::new();
    while chosen.len() < n && !left.is_empty() {
        state = mix(state);
        let at = usize::try_from(state % left.len() as u64).unwrap_or(0);
        chosen.push(left.swap_remove(at));
    }
    chosen
}

/// The output function of SplitMix64.
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn today() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() / (24 * 60 * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_selects_the_same_sample_again_and_all_seeds_together_select_everything() {
        let mut seen = [false; 12];
        for seed in 0..200 {
            let chosen = positions("agents", seed, 12, 3);
            assert_eq!(chosen, positions("agents", seed, 12, 3));
            assert_eq!(chosen.len(), 3);
            for at in chosen {
                seen[at] = true;
            }
        }
        assert_eq!(seen, [true; 12]);
    }

    #[test]
    fn positions_are_different_and_at_most_all() {
        for n in 0..8 {
            let mut chosen = positions("x", 7, 5, n);
            chosen.sort_unstable();
            chosen.dedup();
            assert_eq!(chosen.len(), n.min(5));
        }
    }

    #[test]
    fn another_name_selects_another_sample() {
        let differs = (0..20).filter(|seed| positions("a", *seed, 50, 5) != positions("b", *seed, 50, 5));
        assert_eq!(differs.count(), 20);
    }
}
