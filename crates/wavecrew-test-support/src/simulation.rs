//! What simulations share: random numbers from a seed, and how many runs there are. A failure prints its seed;
//! `WAVECREW_SIM_SEED=N` repeats that run alone, `WAVECREW_SIM_RUNS=N` sets the number of runs per shard.

use crate::depth;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs per shard at full depth; the shards run side by side.
const RUNS: u64 = 25_000;
/// Runs per shard at default depth.
const SAMPLED_RUNS: u64 = 4_000;

/// Runs one shard and gives every result to `collect`; returns the number of runs.
///
/// # Panics
/// If a run panics: with its seed.
pub fn run_shard<T>(shard: u64, run: impl Fn(Rng) -> T, mut collect: impl FnMut(T)) -> u64 {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    if let Some(seed) = number("WAVECREW_SIM_SEED") {
        run(Rng::new(seed));
        return 0;
    }
    let default = if depth::is_full() { RUNS } else { SAMPLED_RUNS };
    let runs = number("WAVECREW_SIM_RUNS").unwrap_or(default);
    // From the seed of the test run, so that samples differ from day to day.
    let first = if depth::is_full() {
        0
    } else {
        depth::seed().wrapping_mul(1_000_000_000)
    };
    for index in 0..runs {
        let seed = first.wrapping_add(shard * RUNS.max(runs) + index);
        let outcome = catch_unwind(AssertUnwindSafe(|| run(Rng::new(seed))));
        collect(
            outcome.unwrap_or_else(|_| panic!("simulation failed; repeat it with WAVECREW_SIM_SEED={seed}")),
        );
    }
    runs
}

/// A small generator (splitmix64), so that a seed means the same run for ever.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.number() % limit as u64).expect("below a usize")
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
