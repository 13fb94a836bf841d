//! Scans Rust and Go tests as text, without a syntax tree: finds only obvious gaps.

use std::path::Path;

use crate::select::DropReason;

/// What is wrong with a test file; nothing for other languages.
pub fn problem(file: &Path, source: &str) -> Option<DropReason> {
    let code: Vec<&str> = source.lines().map(|line| without_comment(file, line)).collect();
    let has = |words: &[&str]| {
        code.iter()
            .any(|line| words.iter().any(|word| line.contains(word)))
    };
    let (tests, assertions, skipped): (&[&str], &[&str], &[&str]) = match file.extension()?.to_str()? {
        "rs" => (
            &["#[test]", "::test]", "::test(", "#[rstest]"],
            &["assert", "panic", "unwrap_err", "expect_err"],
            &["#[ignore"],
        ),
        "go" => (
            &["func Test", "func Fuzz", "func Example"],
            &[".Error", ".Fatal", ".Fail", "assert.", "require.", "// Output:"],
            &[".Skip(", ".SkipNow(", ".Skipf("],
        ),
        _ => return None,
    };
    if !has(tests) {
        Some(DropReason::HoldsNoTest)
    } else if !has(assertions) {
        Some(DropReason::AssertsNothing)
    } else if has(skipped) {
        Some(DropReason::Skipped)
    } else {
        None
    }
}

/// Go compares the output of an example with a comment.
fn without_comment<'l>(file: &Path, line: &'l str) -> &'l str {
    let code = line.split_once("//").map_or(line, |(code, _)| code);
    if file.extension().is_some_and(|ending| ending == "go") && line.trim().starts_with("// Output:") {
        line
    } else {
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plainly_missing_is_found() {
        for (file, source, problem_) in [
            ("a.rs", "fn x() {}", Some(DropReason::HoldsNoTest)),
            (
                "a.rs",
                "#[test]\nfn x() {\n    f(); // assert\n}",
                Some(DropReason::AssertsNothing),
            ),
            ("a.rs", "#[test]\nfn x() {\n    assert_eq!(f(), 1);\n}", None),
            (
                "a.rs",
                "#[test]\n#[ignore]\nfn x() {\n    assert!(f());\n}",
                Some(DropReason::Skipped),
            ),
            ("a_test.go", "func TestX(t *testing.T) {\n\tt.Fatal(1)\n}", None),
            ("a_test.go", "func ExampleX() {\n\tX()\n\t// Output: 1\n}", None),
            (
                "a_test.go",
                "func TestX(t *testing.T) {\n\tX()\n}",
                Some(DropReason::AssertsNothing),
            ),
            ("a.py", "", None),
        ] {
            assert_eq!(problem(Path::new(file), source), problem_, "{source}");
        }
    }
}
