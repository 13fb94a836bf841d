//! Projects whose settings say which files are tests.

use crate::lab::{Lab, text};
use wavecrew_testgen::Framework;

const SOURCE: &str = "exports.sign = (n) => (n > 0 ? 'plus' : n < 0 ? 'minus' : 'none');\n";

#[test]
fn jest_that_looks_for_other_names_than_those_of_the_search() {
    for settings in [
        "module.exports = { testMatch: ['**/tests/sign*.test.js'] };",
        "module.exports = { testRegex: 'tests/sign[a-z-]*\\\\.test\\\\.js$' };",
    ] {
        let files = [
            ("package.json", "{}"),
            ("jest.config.js", settings),
            ("src/sign.js", SOURCE),
        ];
        let Some(lab) = Lab::new(&files) else { return };
        let module = lab.write(Framework::Jest, "src/sign.js");
        assert!(text(&module).contains("'minus'"), "{settings}");
        lab.passes(&["jest", "--ci"]);
    }
}
