//! Waiting for a condition, within bounds.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// No wait takes this long unless something hangs. Test runners end a test earlier.
const LIMIT: Duration = Duration::from_mins(10);

/// Waits until `look` finds something.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(since.elapsed() < LIMIT, "waited too long for {what}");
        sleep(Duration::from_millis(5));
    }
}

#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(what, || holds().then_some(()));
}
