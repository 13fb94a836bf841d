//! go test, with its cover profile.

use crate::measured::{MeasureSandbox, figures, rate};
use wavecrew_test_support::frameworks::installed;

#[test]
fn go() {
    if installed().is_none() {
        return;
    }
    let sandbox = MeasureSandbox::of("go");
    let before = sandbox.files();
    let measured = sandbox.measure("price.go").unwrap();
    assert_eq!(sandbox.files(), before);
    // The test around a failing one fails with it; what is skipped from the start does not count.
    assert_eq!(rate(&measured), (1, 3));
    let red: Vec<String> = measured.failing().map(|test| test.id.to_string()).collect();
    assert_eq!(
        red,
        ["example.com/shop::TestWrong/inner", "example.com/shop::TestWrong"]
    );
    assert_eq!(figures(&measured), ["price.go 6/11"]);
}
