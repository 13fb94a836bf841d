//! Counts what happened, so that a simulation that tests nothing is noticed.

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Happened {
    #[default]
    Completed,
    HostCrash,
    HostPause,
    Partition,
    CoordinatorCrash,
    CoordinatorPause,
    /// Somebody continues the session of a coordinator that is alive.
    TakenOver,
    Fenced,
    /// Two of the clocks are more than an hour apart.
    HourApart,
    LostRequest,
    LostAnswer,
    RepeatedDelivery,
    Interrupted,
    TakenBackTooEarly,
    LateResult,
    DuplicateResult,
    RefusedOffer,
    LeaseLost,
    FoundOwnWrite,
    ResultOfDeadCoordinator,
}

const ALL: [Happened; 20] = [
    Happened::Completed,
    Happened::HostCrash,
    Happened::HostPause,
    Happened::Partition,
    Happened::CoordinatorCrash,
    Happened::CoordinatorPause,
    Happened::TakenOver,
    Happened::Fenced,
    Happened::HourApart,
    Happened::LostRequest,
    Happened::LostAnswer,
    Happened::RepeatedDelivery,
    Happened::Interrupted,
    Happened::TakenBackTooEarly,
    Happened::LateResult,
    Happened::DuplicateResult,
    Happened::RefusedOffer,
    Happened::LeaseLost,
    Happened::FoundOwnWrite,
    Happened::ResultOfDeadCoordinator,
];

#[derive(Debug, Default, Clone)]
pub struct Seen([u64; ALL.len()]);

impl Seen {
    pub fn count(&mut self, what: Happened) {
        self.0[what as usize] += 1;
    }

    pub fn add(&mut self, other: &Self) {
        for (total, more) in self.0.iter_mut().zip(other.0) {
            *total += more;
        }
    }

    pub fn assert_everything_happened(&self, runs: u64) {
        for what in ALL {
            let times = self.0[what as usize];
            assert!(
                times >= runs / 100,
                "{what:?} happened only {times} times: the simulation no longer reaches it"
            );
        }
    }
}
