//! One fault at each of many places, each in a run of its own.

use crate::crash::outcome::{Problems, after_kill, after_refusal};
use crate::crash::trace::{Call, Fault, Kind, Point, record, strike};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use wavecrew_test_support::depth;
use wavecrew_test_support::sandbox::Sandbox;

/// How far from its place in the recording a call is looked for: threads do not always take turns in the same order.
const NEAR: usize = 8;
/// How many of the recorded calls a fault strikes at default depth.
const SAMPLED_CALLS: usize = 12;
/// How often calls that were not met are looked for in another recording.
const AGAIN: usize = 12;

/// Runs to disturb, and where.
pub struct Matrix<'a, P> {
    pub prepare: P,
    /// The words of the run that is disturbed.
    pub words: &'a [&'a str],
    pub calls: &'a [&'a str],
}

/// At which of the calls a fault strikes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Density {
    /// At each one.
    Every,
    /// At the first and the last one that have the same name and file.
    Ends,
}

impl<P: Fn() -> Sandbox + Sync> Matrix<'_, P> {
    /// Strikes everywhere, and makes sure that every kind of call was met.
    pub fn strike(&self, fault: Fault, density: Density) {
        let recorded = record(&(self.prepare)(), self.words, self.calls);
        let recorded = depth::sample("calls that a fault strikes", recorded, SAMPLED_CALLS);
        let mut found = Found::default();
        found.take_in(self.strike_at(points(&recorded, density), fault));
        for distance in 1..=NEAR {
            let missed = found.missed(&recorded);
            let near = missed.flat_map(|call| elsewhere(call, distance)).collect();
            found.take_in(self.strike_at(near, fault));
        }
        // On a busy machine, turns come in an order that earlier recordings do not have; a new recording is
        // closer.
        for _ in 0..AGAIN {
            let missed: BTreeSet<Kind> = found.missed(&recorded).map(|call| call.kind.clone()).collect();
            if missed.is_empty() {
                break;
            }
            let now = record(&(self.prepare)(), self.words, self.calls);
            let now = now.iter().filter(|call| missed.contains(&call.kind));
            let near = |call| (1..=NEAR).flat_map(move |distance| elsewhere(call, distance));
            let places = now.flat_map(|call| near(call).chain([call.point.clone()]));
            found.take_in(self.strike_at(places.collect(), fault));
        }
        assert!(
            found.problems.is_empty(),
            "{fault:?}, {} of {} times:\n{}",
            found.problems.len(),
            found.strikes,
            found.problems.join("\n")
        );
        // A file whose name is new each time is not always met at the number of its call; all others must be.
        let missed: BTreeSet<&Kind> = found.missed(&recorded).map(|call| &call.kind).collect();
        let kinds: BTreeSet<&Kind> = recorded.iter().map(|call| &call.kind).collect();
        assert!(
            missed.iter().all(|kind| kind.is_temporary()) && missed.len() * 20 <= kinds.len(),
            "{fault:?} never struck at {missed:?}"
        );
    }

    fn strike_at(&self, points: BTreeSet<Point>, fault: Fault) -> Vec<Struck> {
        let points: Vec<Point> = points.into_iter().collect();
        side_by_side(&points, |point| {
            let sandbox = (self.prepare)();
            let (ended, kind) = strike(&sandbox, self.words, point, fault);
            // It made fewer calls this time, or what it called had nothing to do with the session.
            let kind = kind?;
            let problems = match fault {
                Fault::Kill => after_kill(&sandbox),
                Fault::Error(_) => after_refusal(&sandbox, &ended),
            };
            Some((point.clone(), kind, problems))
        })
        .into_iter()
        .flatten()
        .collect()
    }
}

type Struck = (Point, Kind, Problems);

#[derive(Default)]
struct Found {
    strikes: usize,
    met: BTreeSet<Kind>,
    problems: Vec<String>,
}

impl Found {
    fn take_in(&mut self, all: Vec<Struck>) {
        self.strikes += all.len();
        for (point, kind, problems) in all {
            if !problems.is_empty() {
                self.problems
                    .push(format!("{point} ({kind}): {}", problems.join("; ")));
            }
            self.met.insert(kind);
        }
    }

    fn missed<'a>(&'a self, recorded: &'a [Call]) -> impl Iterator<Item = &'a Call> {
        recorded.iter().filter(|call| !self.met.contains(&call.kind))
    }
}

fn points(recorded: &[Call], density: Density) -> BTreeSet<Point> {
    let is_end = |at: usize| {
        let same = |call: &Call| call.kind == recorded[at].kind;
        !recorded[..at].iter().any(same) || !recorded[at + 1..].iter().any(same)
    };
    let chosen = (0..recorded.len()).filter(|at| density == Density::Every || is_end(*at));
    chosen.map(|at| recorded[at].point.clone()).collect()
}

/// Where a call that was missed may be instead: by its file, or, when that has a name of its own each time, nearby.
fn elsewhere(call: &Call, distance: usize) -> Vec<Point> {
    let Point { call: name, nth, .. } = &call.point;
    let at = |nth, file| Point {
        call: name.clone(),
        nth,
        file,
    };
    if call.kind.is_temporary() {
        let numbers = [nth.checked_sub(distance), Some(nth + distance)];
        let numbers = numbers.into_iter().flatten().filter(|nth| *nth > 0);
        numbers.map(|nth| at(nth, None)).collect()
    } else {
        vec![at(distance, Some(call.path.clone()))]
    }
}

/// Does all jobs, a few at a time: they mostly wait for the disk and for each other's processes.
fn side_by_side<J: Sync, R: Send>(jobs: &[J], work: impl Fn(&J) -> R + Sync) -> Vec<R> {
    const AT_ONCE: usize = 3;
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(jobs.len()) {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = work(job);
                    done.lock()
                        .expect("no job panics while it holds this")
                        .push(result);
                }
            });
        }
    });
    done.into_inner().expect("no job panics while it holds this")
}
