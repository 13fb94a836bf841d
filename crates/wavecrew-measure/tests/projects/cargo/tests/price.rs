use fixture_shop::total;

#[test]
fn adds() {
    assert_eq!(total(&[100, 250], 0), 350);
}

#[test]
fn is_wrong() {
    assert_eq!(total(&[100], 0), 999);
}
