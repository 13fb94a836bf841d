//! Unit tests of the JavaScript helper, with node's own test runner.

use std::path::Path;
use std::process::{Command, Stdio};

use wavecrew_test_support::frameworks::installed;

#[test]
fn units_of_the_helper() {
    if installed().is_none() {
        return;
    }
    let units = Path::new(env!("CARGO_MANIFEST_DIR")).join("helpers/javascript_tests/units.cjs");
    let ran = Command::new("node")
        .arg("--test")
        .arg(units)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
}
