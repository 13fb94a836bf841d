//! Projects whose settings select test files.

use super::project::{TestProject, text};
use wavecrew_testgen::Framework;

const SOURCE: &str = "exports.sign = (n) => (n > 0 ? 'plus' : n < 0 ? 'minus' : 'none');\n";

#[test]
fn jest_settings_that_exclude_the_names_of_the_search() {
    for settings in [
        "module.exports = { testMatch: ['**/tests/sign*.test.js'] };",
        "module.exports = { testRegex: 'tests/sign[a-z-]*\\\\.test\\\\.js$' };",
    ] {
        let files = [
            ("package.json", "{}"),
            ("jest.config.js", settings),
            ("src/sign.js", SOURCE),
        ];
        let Some(project) = TestProject::new(&files) else {
            return;
        };
        let module = project.generate(Framework::Jest, "src/sign.js");
        assert!(text(&module).contains("'minus'"), "{settings}");
        project.assert_passes(&["jest", "--ci"]);
    }
}
