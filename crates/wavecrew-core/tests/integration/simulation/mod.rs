//! A deterministic simulator: random plans, random workers, crashes at random points, all from one seed. A failure
//! prints its seed; `WAVECREW_SIM_SEED=N cargo nextest run -p wavecrew-core simulation` repeats it alone.

mod seen;
mod tables;
mod workers;
mod world;

use seen::Seen;
use wavecrew_test_support::simulation::run_shard;
use world::World;

fn shard(shard: u64) {
    let mut totals = Seen::default();
    let simulate = |rng| {
        let mut world = World::new(rng);
        world.run_to_the_end();
        world.seen
    };
    let runs = run_shard(shard, simulate, |seen| totals.add(&seen));
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

#[test]
fn shard_2() {
    shard(2);
}

#[test]
fn shard_3() {
    shard(3);
}
