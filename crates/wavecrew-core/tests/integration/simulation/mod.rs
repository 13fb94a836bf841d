//! A deterministic simulator: random plans, random workers, crashes at random points, all from one seed. A failure
//! prints its seed; `WAVECREW_SIM_SEED=N cargo nextest run -p wavecrew-core simulation` repeats it alone.

#![expect(
    clippy::disallowed_methods,
    reason = "a person chooses the seed and the number of runs"
)]

mod rng;
mod seen;
mod tables;
mod workers;
mod world;

use rng::Rng;
use seen::Seen;
use std::panic::{AssertUnwindSafe, catch_unwind};
use wavecrew_test_support::depth;
use world::World;

/// Runs per shard at full depth; the shards run side by side. `WAVECREW_SIM_RUNS` changes it.
const RUNS: u64 = 25_000;
/// Runs per shard at default depth.
const SAMPLED_RUNS: u64 = 4_000;

fn runs() -> u64 {
    let default = if depth::is_full() { RUNS } else { SAMPLED_RUNS };
    std::env::var("WAVECREW_SIM_RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok())
        .unwrap_or(default)
}

/// The number of the first run: from the seed of the test run, so that samples differ from day to day.
fn first_run() -> u64 {
    if depth::is_full() {
        0
    } else {
        depth::seed().wrapping_mul(1_000_000)
    }
}

fn shard(shard: u64) {
    if let Some(seed) = std::env::var("WAVECREW_SIM_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
    {
        return World::new(Rng::new(seed)).run_to_the_end();
    }
    let mut totals = Seen::default();
    for run in 0..runs() {
        let number = first_run().wrapping_add(shard * RUNS + run);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut world = World::new(Rng::new(number));
            world.run_to_the_end();
            world.seen
        }));
        let seen = outcome
            .unwrap_or_else(|_| panic!("simulation failed; repeat it with WAVECREW_SIM_SEED={number}"));
        totals.add(&seen);
    }
    totals.assert_everything_happened(runs());
}

#[test]
fn shard_0() {
    shard(0);
}

#[test]
fn shard_1() {
    shard(1);
}

#[test]
fn shard_2() {
    shard(2);
}

#[test]
fn shard_3() {
    shard(3);
}
