//! Counts what happened in simulations.

/// How often each thing happened, so that a simulation that tests nothing is noticed.
#[derive(Default)]
pub struct Seen {
    pub crashes: u64,
    pub power_losses: u64,
    pub recovered: u64,
    pub stops: u64,
    pub edits: u64,
    pub sent_back: u64,
    pub retries: u64,
    pub timeouts: u64,
    pub skips: u64,
    pub completed: u64,
    pub postponed: u64,
    pub limits: u64,
    pub revised: u64,
    pub rolled_back: u64,
    pub blocked: u64,
}

impl Seen {
    fn all(&self) -> [(&'static str, u64); 15] {
        [
            ("crashes", self.crashes),
            ("power losses", self.power_losses),
            ("recovered reports", self.recovered),
            ("stops", self.stops),
            ("edits", self.edits),
            ("sent back", self.sent_back),
            ("retries", self.retries),
            ("timeouts", self.timeouts),
            ("skips", self.skips),
            ("completed", self.completed),
            ("postponed", self.postponed),
            ("limits reached", self.limits),
            ("revisions", self.revised),
            ("roll-backs", self.rolled_back),
            ("blocked runs", self.blocked),
        ]
    }

    pub fn add(&mut self, other: &Self) {
        self.crashes += other.crashes;
        self.power_losses += other.power_losses;
        self.recovered += other.recovered;
        self.stops += other.stops;
        self.edits += other.edits;
        self.sent_back += other.sent_back;
        self.retries += other.retries;
        self.timeouts += other.timeouts;
        self.skips += other.skips;
        self.completed += other.completed;
        self.postponed += other.postponed;
        self.limits += other.limits;
        self.revised += other.revised;
        self.rolled_back += other.rolled_back;
        self.blocked += other.blocked;
    }

    pub fn assert_everything_happened(&self, runs: u64) {
        for (what, times) in self.all() {
            assert!(
                times >= runs / 50,
                "{what} happened only {times} times: the simulation no longer reaches it"
            );
        }
    }
}
