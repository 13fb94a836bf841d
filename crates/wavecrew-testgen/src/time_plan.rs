//! Divides the time until the deadline among the modules, the most valuable first.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::Request;

/// The wall time below which a module is not worth starting.
const LEAST: Duration = Duration::from_secs(10);
/// Kept free before the deadline, to end processes and report.
const RESERVE: Duration = Duration::from_secs(3);
/// Wall time of a module per second of its search: the search, the checks in new processes and the run of the tests.
const WALL_PER_SEARCH: u32 = 4;
/// The shortest search.
const LEAST_SEARCH: Duration = Duration::from_secs(1);

/// The time of one module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Processor time for its search.
    pub budget: Duration,
    /// When its tests must be written.
    pub until: Option<Instant>,
}

impl Share {
    /// The wall time that is left, at most `otherwise`.
    pub fn wall_time(self, otherwise: Duration) -> Duration {
        let left = self
            .until
            .map(|until| until.saturating_duration_since(Instant::now()));
        left.map_or(otherwise, |left| left.min(otherwise))
    }
}

pub struct TimePlan {
    budget: Duration,
    deadline: Option<Instant>,
    jobs: usize,
}

impl TimePlan {
    pub fn of(request: &Request) -> Self {
        Self {
            budget: request.budget_per_module,
            deadline: request
                .deadline
                .map(|deadline| deadline.checked_sub(RESERVE).unwrap_or(deadline)),
            jobs: request.jobs.max(1),
        }
    }

    /// The share of the next of `waiting` modules; `None` when too little time is left. The more time the earlier ones
    /// leave, the larger it is.
    pub fn share(&self, waiting: usize) -> Option<Share> {
        self.share_at(waiting, Instant::now())
    }

    fn share_at(&self, waiting: usize, now: Instant) -> Option<Share> {
        let Some(deadline) = self.deadline else {
            return Some(Share {
                budget: self.budget,
                until: None,
            });
        };
        let left = deadline.saturating_duration_since(now);
        if left < LEAST {
            return None;
        }
        let turns = u32::try_from(waiting.div_ceil(self.jobs).max(1)).unwrap_or(u32::MAX);
        let wall = (left / turns).clamp(LEAST, left);
        Some(Share {
            budget: (wall / WALL_PER_SEARCH).clamp(LEAST_SEARCH.min(self.budget), self.budget),
            // The last module may use all the time that is left; earlier ones leave time for those after
            // them.
            until: Some(now + if turns == 1 { left } else { (wall * 2).min(left) }),
        })
    }
}

/// The files with their positions in the request, the most valuable first.
pub fn ordered(request: &Request) -> Vec<(usize, &PathBuf)> {
    let priorities = &request.priorities;
    let mut files: Vec<(usize, &PathBuf)> = request.files.iter().enumerate().collect();
    files.sort_by_key(|(_, file)| {
        let uncovered = priorities.uncovered_lines.get(*file);
        (
            !priorities.changed.contains(*file),
            uncovered == Some(&0),
            is_private(file),
            Reverse(uncovered.copied()),
        )
    });
    files
}

/// Whether the name of a module, or of a package around it, marks it as internal.
fn is_private(file: &Path) -> bool {
    let private = |name: &str| name.starts_with('_') && !name.starts_with("__");
    file.iter().any(|part| private(&part.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Framework, Imports, Priorities};

    fn plan(seconds: u64, jobs: usize) -> (TimePlan, Instant) {
        let now = Instant::now();
        let plan = TimePlan {
            budget: Duration::from_secs(10),
            deadline: Some(now + Duration::from_secs(seconds)),
            jobs,
        };
        (plan, now)
    }

    #[test]
    fn each_module_gets_a_share_of_what_is_left() {
        let (plan, now) = plan(240, 2);
        let share = plan.share_at(20, now).unwrap();
        assert_eq!(share.budget, Duration::from_secs(6));
        assert_eq!(share.until, Some(now + Duration::from_secs(48)));
        // The earlier ones were quick: the last two get the whole budget, and all the time that is left.
        let share = plan.share_at(2, now + Duration::from_mins(1)).unwrap();
        assert_eq!(share.budget, Duration::from_secs(10));
        assert_eq!(share.until, plan.deadline);
    }

    #[test]
    fn the_first_modules_get_a_useful_share_when_time_is_short_for_all() {
        let (plan, now) = plan(60, 1);
        let share = plan.share_at(100, now).unwrap();
        assert_eq!(share.budget, LEAST / WALL_PER_SEARCH);
        assert_eq!(plan.share_at(90, now + Duration::from_secs(55)), None);
    }

    #[test]
    fn without_a_deadline_every_module_gets_the_whole_budget() {
        let plan = TimePlan {
            budget: Duration::from_secs(10),
            deadline: None,
            jobs: 1,
        };
        let share = plan.share_at(1000, Instant::now()).unwrap();
        assert_eq!((share.budget, share.until), (Duration::from_secs(10), None));
    }

    #[test]
    fn changed_then_uncovered_then_public_modules_come_first() {
        let file = |name: &str| PathBuf::from(name);
        let request = Request {
            root: file("."),
            files: ["a.py", "_b.py", "done.py", "c.py", "changed.py"]
                .map(file)
                .to_vec(),
            framework: Framework::Pytest,
            layer_folder: file("out"),
            run_folder: file("tests"),
            imports: Imports::default(),
            feedback: None,
            commit: None,
            seed: 1,
            budget_per_module: Duration::from_secs(1),
            deadline: None,
            priorities: Priorities {
                changed: [file("changed.py")].into(),
                uncovered_lines: [(file("done.py"), 0), (file("c.py"), 9), (file("a.py"), 3)].into(),
            },
            jobs: 1,
        };
        let names: Vec<String> = ordered(&request)
            .into_iter()
            .map(|(_, file)| file.display().to_string())
            .collect();
        assert_eq!(names, ["changed.py", "c.py", "a.py", "_b.py", "done.py"]);
    }
}
