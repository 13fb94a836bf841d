//! Where a project's settings expect tests, for a project that has none yet. Reads settings as text: does not see what a program
//! computes.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::framework::settings_files;

/// The folder below the root and the file name pattern of tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ConfiguredTests {
    pub folder: Option<String>,
    pub naming: Option<String>,
}

/// The strings in lists of this name, in a settings file of a tool or in `package.json`.
pub fn lists(root: &Path, tool: &str, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for file in settings_files(&format!("{tool}.config")) {
        if let Ok(text) = fs::read_to_string(root.join(file)) {
            found.extend(strings_in_lists(&text, name));
        }
    }
    let package = fs::read(root.join("package.json")).unwrap_or_default();
    let package: Value = serde_json::from_slice(&package).unwrap_or_default();
    let listed = package[tool][name].as_array().into_iter().flatten();
    found.extend(listed.filter_map(Value::as_str).map(str::to_owned));
    found
}

/// `name: ['a', "b"]` in a program gives `a` and `b`.
fn strings_in_lists(text: &str, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        rest = &rest[at + name.len()..];
        let after = rest.trim_start_matches(['"', '\'', ' ', ':', '=', '\n']);
        let Some(mut list) = after.strip_prefix('[') else {
            continue;
        };
        // Brackets inside strings belong to patterns.
        while let Some(open) = list.find(['\'', '"', '`', ']']) {
            let quote = list[open..].chars().next().unwrap_or(']');
            list = &list[open + 1..];
            if quote == ']' {
                break;
            }
            let Some(close) = list.find(quote) else { break };
            found.push(list[..close].to_owned());
            list = &list[close + 1..];
        }
    }
    found
}

pub fn of_globs(globs: &[String]) -> ConfiguredTests {
    let folder = globs.iter().find_map(|glob| folder_of(glob));
    let name = |glob: &String| glob.rsplit('/').next().unwrap_or_default().to_owned();
    let names: Vec<String> = globs.iter().map(name).collect();
    let only_spec =
        names.iter().any(|name| name.contains("spec")) && !names.iter().any(|name| name.contains("test"));
    ConfiguredTests {
        folder,
        naming: only_spec.then(|| "*.spec.ts".to_owned()),
    }
}

/// The folders without wildcards that a pattern begins with: `src` of `**/src/**/*.test.ts`.
fn folder_of(glob: &str) -> Option<String> {
    let below = glob.trim_start_matches("<rootDir>/").trim_start_matches("./");
    let parts: Vec<&str> = below.split('/').collect();
    let is_plain =
        |part: &&&str| !part.contains(['*', '?', '[', '{', '(', '!', '<', '.']) && !part.is_empty();
    let first = parts.iter().skip_while(|part| **part == "**");
    let plain: Vec<&str> = first.take_while(is_plain).copied().collect();
    (!plain.is_empty()).then(|| plain.join("/"))
}

/// The first of pytest's `testpaths`.
pub fn testpaths(root: &Path) -> Option<String> {
    let text = fs::read_to_string(root.join("pyproject.toml")).ok()?;
    let settings: toml::Table = toml::from_str(&text).ok()?;
    let paths = settings
        .get("tool")?
        .get("pytest")?
        .get("ini_options")?
        .get("testpaths")?;
    let first = match paths {
        toml::Value::Array(paths) => paths.first()?.as_str()?,
        paths => paths.as_str()?.split_whitespace().next()?,
    };
    folder_of(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_folder_is_read_from_patterns() {
        for (glob, folder) in [
            ("**/src/**/*.test.ts", Some("src")),
            ("src/**/*.{test,spec}.?(c|m)[jt]s?(x)", Some("src")),
            ("<rootDir>/test/unit/*.spec.js", Some("test/unit")),
            ("./tests/**/*.ts", Some("tests")),
            ("**/*.test.ts", None),
            ("**/__tests__/**/*.[jt]s", Some("__tests__")),
            ("<rootDir>", None),
            ("../shared/*.test.ts", None),
        ] {
            assert_eq!(folder_of(glob).as_deref(), folder, "{glob}");
        }
    }

    #[test]
    fn lists_are_found_in_settings_files() {
        let text = "export default { coverage: { include: ['src/*.ts'] },\n  include: [\n \"a/[jt]s.test\", `b`],\n include }";
        assert_eq!(
            strings_in_lists(text, "include"),
            ["src/*.ts", "a/[jt]s.test", "b"]
        );
        assert!(strings_in_lists("testMatch: ['unended", "testMatch").is_empty());
        assert!(strings_in_lists("testMatch: patterns", "testMatch").is_empty());
    }

    #[test]
    fn the_naming_is_spec_if_settings_expect_nothing_else() {
        let naming = |globs: &[&str]| {
            of_globs(&globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>()).naming
        };
        assert_eq!(naming(&["src/**/*.spec.ts"]).as_deref(), Some("*.spec.ts"));
        assert_eq!(naming(&["src/**/*.{spec,test}.ts"]), None);
        assert_eq!(naming(&["tests/**/*.test.ts"]), None);
    }
}
