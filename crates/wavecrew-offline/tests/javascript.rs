//! The JavaScript half through the library, inside real vitest and jest.
//! Needs `scripts/install-frameworks.sh`; `WAVECREW_SKIP_FRAMEWORKS=1` passes these tests over.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

#[path = "../../wavecrew-measure/tests/frameworks/installed.rs"]
mod installed;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use wavecrew_offline::{Framework, Imports, Module, Request, generate};

struct Lab {
    dir: tempfile::TempDir,
}

impl Lab {
    fn new(files: &[(&str, &str)]) -> Option<Self> {
        let folder = installed::installed()?;
        let dir = tempfile::tempdir().unwrap();
        let lab = Self { dir };
        for (name, text) in files {
            let path = lab.root().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        symlink(folder.join("node_modules"), lab.root().join("node_modules")).unwrap();
        Some(lab)
    }

    fn root(&self) -> &Path {
        self.dir.path()
    }

    /// Writes tests for a file, straight into the folder that they are run in.
    fn write(&self, framework: Framework, file: &str) -> Module {
        let request = Request {
            root: self.root().canonicalize().unwrap(),
            files: vec![self.root().canonicalize().unwrap().join(file)],
            framework,
            layer_folder: self.root().join("tests"),
            laid_in: PathBuf::from("tests"),
            imports: Imports::default(),
            round: None,
            commit: Some("abc1234".to_owned()),
            seed: 7,
            budget_per_module: Duration::from_secs(4),
            jobs: 1,
        };
        let outcome = generate(&request, &mut |_| {}).unwrap();
        outcome.modules.into_iter().next().unwrap()
    }

    /// The project's own framework takes what was written.
    fn passes(&self, words: &[&str]) {
        let ran = Command::new(self.root().join("node_modules/.bin").join(words[0]))
            .args(&words[1..])
            .current_dir(self.root())
            .env("TZ", "Pacific/Apia")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    }
}

/// The file that was written.
fn text(module: &Module) -> String {
    fs::read_to_string(
        &module
            .written
            .first()
            .unwrap_or_else(|| panic!("{module:?}"))
            .path,
    )
    .unwrap()
}

const TEXT: &str = r"
export type Align = 'left' | 'right';
export function pad(text: string, width: number, align: Align = 'left'): string {
  const missing = width - text.length;
  if (missing <= 0) return text;
  return align === 'left' ? text + ' '.repeat(missing) : ' '.repeat(missing) + text;
}
export function duration(text: string): number {
  const match = /^(\d+)(ms|s)$/.exec(text);
  if (!match) throw new Error('bad duration');
  return match[2] === 's' ? Number(match[1]) * 1000 : Number(match[1]);
}
export async function twice(n: number): Promise<number> {
  return n * 2;
}
export function now(): number {
  return Date.now();
}
export class Counter {
  private n = 0;
  constructor(readonly step = 1) {}
  up(): this { this.n += this.step; return this; }
  get value(): number { return this.n; }
}
";

#[test]
fn typescript_in_vitest() {
    let Some(lab) = Lab::new(&[("package.json", r#"{"type": "module"}"#), ("src/text.ts", TEXT)]) else {
        return;
    };
    let module = lab.write(Framework::Vitest, "src/text.ts");
    let text = text(&module);
    for part in [
        "from '../src/text'",
        "describe('pad'",
        "describe('duration'",
        "toThrow('bad duration')",
        "await twice(",
        "new Counter(",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains("now()"), "the clock is asserted:\n{text}");
    assert!(
        text.starts_with("// Records what src/text.ts does as of abc1234"),
        "{text}"
    );
    lab.passes(&["vitest", "run"]);
    let left: Vec<_> = fs::read_dir(lab.root().join("tests")).unwrap().collect();
    assert_eq!(left.len(), 1, "the search leaves nothing else behind");
}

#[test]
fn common_modules_in_jest() {
    let source = "function clamp(n, low, high) { if (n < low) return low; if (n > high) return high; return n; }\n\
                  function last(items) { return items[items.length - 1]; }\nmodule.exports = { clamp, last };\n";
    let Some(lab) = Lab::new(&[("package.json", "{}"), ("lib/num.js", source)]) else {
        return;
    };
    let module = lab.write(Framework::Jest, "lib/num.js");
    let text = text(&module);
    assert!(
        text.contains("= require('../lib/num')") && text.contains("describe('clamp'"),
        "{text}"
    );
    lab.passes(&["jest", "--ci"]);
}

#[test]
fn what_cannot_be_tried_is_told() {
    let source = "export function wait() { for (;;) {} }\n\
                  export function go() { return require('child_process').execSync('true'); }\n\
                  export function fine(n) { return n + 1; }\n";
    let files = [
        ("package.json", r#"{"type": "module"}"#),
        ("src/a.js", source),
        ("src/broken.js", "export const a = ;\n"),
        ("src/exits.js", "process.exit(3);\nexport const a = 1;\n"),
    ];
    let Some(lab) = Lab::new(&files) else { return };
    let module = lab.write(Framework::Vitest, "src/a.js");
    assert!(
        module.defects.iter().any(|defect| defect.kind == "does not end"),
        "{module:?}"
    );
    assert!(text(&module).contains("describe('fine'"));
    for file in ["src/broken.js", "src/exits.js"] {
        let module = lab.write(Framework::Vitest, file);
        assert!(
            module.written.is_empty() && module.left_out.len() == 1,
            "{module:?}"
        );
    }
}
