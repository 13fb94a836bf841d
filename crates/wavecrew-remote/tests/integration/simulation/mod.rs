//! A deterministic simulator of leases: hosts, a coordinator and a store behind a network that delays, loses, repeats and
//! cuts; hosts and coordinators that crash, pause and come back; clocks that are wrong by hours and run at different
//! speeds. All from one seed; `WAVECREW_SIM_SEED=N cargo nextest run -p wavecrew-remote simulation` repeats a failed run.

mod coordinator;
mod host;
mod seen;
mod world;

use seen::Seen;
use wavecrew_test_support::simulation::run_shard;
use world::World;

fn shard(shard: u64) {
    let mut totals = Seen::default();
    let runs = run_shard(
        shard,
        |rng| World::new(rng).run_to_the_end(),
        |seen| totals.add(&seen),
    );
    if runs > 0 {
        totals.assert_everything_happened(runs);
    }
}

#[test]
fn shard_0() {
    shard(0);
}

#[test]
fn shard_1() {
    shard(1);
}
