//! Go modules: the event stream and the cover profile of `go test`.

use std::ffi::OsString;

use super::error::MeasureError;
use super::scope::WhenMissing;
use super::{Bench, Invocation, Order, option, words};
use crate::report::{CoverageFormat, TestFormat};

#[expect(
    clippy::unnecessary_wraps,
    reason = "all frameworks are asked in the same way"
)]
pub fn invocation(bench: &Bench<'_>) -> Result<Invocation, MeasureError> {
    let events = bench.file("events.jsonl");
    let profile = bench.file("cover.out");
    let mut args = words(["test", "-json"]);
    let covered = bench.wants_coverage();
    if covered {
        args.push("-coverpkg=./...".into());
        args.push(option("-coverprofile", &profile));
    }
    if let Order::Shuffled { seed } = bench.request.order {
        args.push(format!("-shuffle={seed}").into());
    }
    // A result from go's cache is no run.
    args.push("-count=1".into());
    args.extend(packages(bench));
    let mut step = bench.step("go", args);
    step.copy_to = Some(events.clone());
    Ok(Invocation {
        tests: step,
        test_report: (TestFormat::GoEvents, events),
        then: Vec::new(),
        coverage: covered.then_some((CoverageFormat::GoProfile, profile)),
        when_missing: WhenMissing::NotLoaded,
        notes: Vec::new(),
    })
}

/// Go tests packages, not files.
fn packages(bench: &Bench<'_>) -> Vec<OsString> {
    let mut packages: Vec<OsString> = bench
        .request
        .tests
        .iter()
        .filter_map(|file| file.parent()?.strip_prefix(bench.root()).ok())
        .map(|folder| {
            let mut word = OsString::from("./");
            word.push(folder);
            word
        })
        .collect();
    packages.sort_unstable();
    packages.dedup();
    if packages.is_empty() {
        packages.push("./...".into());
    }
    packages
}
