//! Removes a test from the lines of a file without a trace: with the blank lines around it and the comment
//! above it. The caller finds where a test starts and ends.

use std::ops::Range;

use wavecrew_syntax::Grammar;

/// Removes lines, which are a whole statement. Those that follow move up.
pub fn remove(lines: &mut Vec<String>, language: Grammar, statement: Range<usize>) {
    let Range { mut start, mut end } = statement;
    let mut depth = indent(&lines[start]);
    loop {
        start = with_comment(lines, language, start);
        let suite = language != Grammar::Python && opens_suite(lines, start) && closes_suite(lines, end);
        let (Some(opening), Some(closing)) = (previous_line(lines, start), next_line(lines, end)) else {
            break;
        };
        if !suite {
            break;
        }
        // For some frameworks, a suite without tests is an error.
        (start, end) = (opening, closing + 1);
        depth = indent(&lines[start]);
    }
    // A class that loses its last method still needs a body.
    let empty = language == Grammar::Python
        && depth > 0
        && code(lines, language, (0..start).rev()).is_none_or(|line| indent(line) < depth)
        && code(lines, language, end..lines.len()).is_none_or(|line| indent(line) < depth);
    if empty {
        let body = format!("{}pass\n", &lines[start][..depth]);
        lines.splice(start..end, [body]);
        return;
    }
    let Some(next) = next_line(lines, end) else {
        lines.truncate(previous_line(lines, start).map_or(0, |last| last + 1));
        return;
    };
    // Keeps the gap that fits the place: that between the statements before, or that at the end of the block.
    if indent(&lines[next]) < depth {
        start = previous_line(lines, start).map_or(0, |last| last + 1);
    } else {
        end = next;
    }
    lines.drain(start..end);
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn blank(line: &str) -> bool {
    line.trim().is_empty()
}

fn previous_line(lines: &[String], start: usize) -> Option<usize> {
    (0..start).rev().find(|&at| !blank(&lines[at]))
}

fn next_line(lines: &[String], end: usize) -> Option<usize> {
    (end..lines.len()).find(|&at| !blank(&lines[at]))
}

fn comment(language: Grammar, line: &str) -> bool {
    line.trim_start()
        .starts_with(if language == Grammar::Python { "#" } else { "//" })
}

/// The first line of code among some.
fn code(lines: &[String], language: Grammar, mut among: impl Iterator<Item = usize>) -> Option<&String> {
    among
        .find(|&at| !blank(&lines[at]) && !comment(language, &lines[at]))
        .map(|at| &lines[at])
}

/// Where the comment of a statement begins. A comment at the top of a file is about the file.
fn with_comment(lines: &[String], language: Grammar, start: usize) -> usize {
    let own = |&at: &usize| comment(language, &lines[at]) && indent(&lines[at]) == indent(&lines[start]);
    let first = (0..start).rev().take_while(own).last().unwrap_or(start);
    if first == 0 { start } else { first }
}

fn opens_suite(lines: &[String], start: usize) -> bool {
    previous_line(lines, start).is_some_and(|at| {
        let line = lines[at].trim();
        line.starts_with("describe") && line.ends_with('{')
    })
}

fn closes_suite(lines: &[String], end: usize) -> bool {
    next_line(lines, end).is_some_and(|at| lines[at].trim_start().starts_with("})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text without the lines that contain `gone`, from the first to the last of them.
    fn without(language: Grammar, text: &str) -> String {
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        let marked: Vec<usize> = (0..lines.len())
            .filter(|&at| lines[at].contains("gone"))
            .collect();
        remove(&mut lines, language, marked[0]..marked[marked.len() - 1] + 1);
        lines.concat()
    }

    #[test]
    fn a_python_test_is_removed_without_a_trace() {
        let cases = [
            // between others, first, last
            (
                "import x\n\n\ndef a():\n    x\n\n\ndef gone():\n    gone\n\n\ndef b():\n    x\n",
                "import x\n\n\ndef a():\n    x\n\n\ndef b():\n    x\n",
            ),
            (
                "def gone():\n    gone\n\n\ndef b():\n    x\n",
                "def b():\n    x\n",
            ),
            (
                "def a():\n    x\n\n\n@gone\ndef gone():\n    gone\n",
                "def a():\n    x\n",
            ),
            ("def a():\n    x\n\n\ndef gone(): gone\n\n\n", "def a():\n    x\n"),
            // its own comment goes, that of the file and that of a section stay
            (
                "x\n\n\n# why\ndef gone(): gone\n\n\ndef b(): x\n",
                "x\n\n\ndef b(): x\n",
            ),
            (
                "# file\ndef gone(): gone\n\n\ndef b(): x\n",
                "# file\ndef b(): x\n",
            ),
            (
                "x\n\n# part\n\ndef gone(): gone\n\ndef b(): x\n",
                "x\n\n# part\n\ndef b(): x\n",
            ),
            // methods
            (
                "class T:\n    def gone(self): gone\n\n    def b(self): x\n",
                "class T:\n    def b(self): x\n",
            ),
            (
                "class T:\n    def a(self): x\n\n    def gone(self): gone\n\n\ndef b(): x\n",
                "class T:\n    def a(self): x\n\n\ndef b(): x\n",
            ),
            ("class T:\n    def gone(self): gone\n", "class T:\n    pass\n"),
            (
                "class T:\n    # all\n\n    def gone(self): gone\n\n\nx\n",
                "class T:\n    # all\n\n    pass\n\n\nx\n",
            ),
        ];
        for (source, left) in cases {
            assert_eq!(without(Grammar::Python, source), left, "{source}");
        }
    }

    #[test]
    fn nothing_tells_that_a_script_test_was_there() {
        let cases = [
            (
                "describe('c', () => {\n  it('a', f);\n\n  it('gone', () => {\n    gone();\n  }); // gone\n\n  it('b', f);\n});\n",
                "describe('c', () => {\n  it('a', f);\n\n  it('b', f);\n});\n",
            ),
            (
                "describe('c', () => {\n  it('gone', f);\n\n  it('b', f);\n});\n",
                "describe('c', () => {\n  it('b', f);\n});\n",
            ),
            (
                "describe('c', () => {\n  it('a', f);\n\n  // why\n  it('gone', f);\n});\n",
                "describe('c', () => {\n  it('a', f);\n});\n",
            ),
            ("it('a', f);\n\nit('gone', f);\n", "it('a', f);\n"),
            // a suite that would be empty
            (
                "import f;\n\ndescribe('c', () => {\n  describe('d', () => {\n    it('gone', f);\n  });\n});\n\nit('b', f);\n",
                "import f;\n\nit('b', f);\n",
            ),
            (
                "describe('c', () => {\n  const a = 1;\n  it('gone', f);\n});\n",
                "describe('c', () => {\n  const a = 1;\n});\n",
            ),
        ];
        for (source, left) in cases {
            assert_eq!(without(Grammar::TypeScript, source), left, "{source}");
        }
    }
}
