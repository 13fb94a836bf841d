use std::path::Path;
use wavecrew_core::engine::Verdict;
use wavecrew_core::id::TaskIx;
use wavecrew_core::plan::Plan;
use wavecrew_core::team::Team;
pub fn check(_: &Path, _: &Path, _: &Team, _: &Plan, _: TaskIx, _: &[(String, String)]) -> Verdict {
    Verdict::Holds {
        checked: wavecrew_core::event::Checked::Unverified,
        measured: vec![],
    }
}
pub fn artifacts_complete(_: &Path, _: &Team, _: &Plan, _: TaskIx) -> bool {
    false
}
