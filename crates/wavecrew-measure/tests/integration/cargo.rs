//! cargo nextest, with cargo llvm-cov where it is there.

use wavecrew_measure::Coverage;

use crate::measured::{MeasureSandbox, figures, fixes, rate};
use wavecrew_test_support::frameworks::installed;

#[test]
fn cargo() {
    if installed().is_none() {
        return;
    }
    let sandbox = MeasureSandbox::of("cargo");
    let before = sandbox.files();
    let measured = sandbox.measure("src/lib.rs").unwrap();
    assert_eq!(sandbox.files(), before);
    assert_eq!(rate(&measured), (1, 2));
    let red: Vec<String> = measured.failing().map(|test| test.id.to_string()).collect();
    assert_eq!(red, ["fixture-shop::price::is_wrong"]);
    match measured.coverage {
        Coverage::Known { .. } => assert_eq!(figures(&measured), ["src/lib.rs 5/9"]),
        Coverage::Unknown => assert!(fixes(&measured).contains("cargo install --locked cargo-llvm-cov")),
    }
}
