//! Which module of a project a file belongs to: the first folder below the source root.

use super::normalised;

const ROOTS: [&str; 4] = ["src", "lib", "app", "source"];
const TESTS: [&str; 5] = ["tests", "test", "__tests__", "spec", "docs"];

/// `src/auth/x.ts` is of module `auth`. Tests and documents belong to none.
pub(super) fn module(path: &str) -> Option<String> {
    let path = normalised(path);
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let folders: Vec<&str> = folders.split('/').filter(|part| !part.is_empty()).collect();
    let is_test = folders.iter().any(|folder| TESTS.contains(folder))
        || name.starts_with("test_")
        || [".test.", ".spec.", "_test."]
            .iter()
            .any(|mark| name.contains(mark));
    let is_document = name
        .rsplit_once('.')
        .is_some_and(|(_, ending)| matches!(ending, "md" | "rst" | "txt"));
    if name.is_empty() || is_test || is_document {
        return None;
    }
    let module = match folders.iter().position(|folder| ROOTS.contains(folder)) {
        Some(root) => match (&folders[..root], folders.get(root + 1)) {
            ([], Some(first)) => (*first).to_owned(),
            ([], None) => ".".to_owned(),
            (above, Some(first)) => format!("{}/{first}", above.join("/")),
            (above, None) => above.join("/"),
        },
        None => folders.first().copied().unwrap_or(".").to_owned(),
    };
    Some(module)
}

#[cfg(test)]
mod tests {
    use super::module;

    #[test]
    fn modules() {
        for (path, expected) in [
            ("src/auth/x.ts", Some("auth")),
            ("./src//auth/deep/y.ts", Some("auth")),
            ("src/main.rs", Some(".")),
            ("main.py", Some(".")),
            ("cart/z.js", Some("cart")),
            ("crates/core/src/plan/a.rs", Some("crates/core/plan")),
            ("crates/core/src/lib.rs", Some("crates/core")),
            ("tests/auth/x.rs", None),
            ("src/auth/x.test.ts", None),
            ("src/test_cart.py", None),
            ("README.md", None),
            ("", None),
        ] {
            assert_eq!(module(path).as_deref(), expected, "{path}");
        }
    }
}
