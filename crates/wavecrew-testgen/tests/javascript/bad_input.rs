//! Modules that are not as hoped for: each is told, and the rest goes on.

use wavecrew_testgen::{Framework, Module};

use crate::lab::{Lab, text};

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

#[test]
fn calls_that_end_the_process_or_recurse_for_ever_spare_the_others() {
    let source = "export function down(n) { return down(n + 1) + 1; }\n\
                  export function leave(n) { if (n > 3) process.exit(n); return n; }\n\
                  export function bytes(n) { process.stdout.write(Buffer.from([255, 0, n])); return n; }\n\
                  export function fine(n) { return n + 1; }\n";
    let files = [("package.json", r#"{"type": "module"}"#), ("src/a.js", source)];
    let Some(lab) = Lab::new(&files) else { return };
    let module = lab.write(Framework::Vitest, "src/a.js");
    assert!(text(&module).contains("describe('fine'"), "{module:?}");
    assert!(
        module
            .left_out
            .iter()
            .any(|left| left.why.contains("end the process")),
        "{module:?}"
    );
    lab.passes(&["vitest", "run"]);
}

/// Whether something of this name was left out, with this reason.
#[track_caller]
fn leaves_out(module: &Module, name: &str, reason: &str) {
    let found = module
        .left_out
        .iter()
        .any(|left| left.what.ends_with(name) && left.why.contains(reason));
    assert!(found, "no `{name}: {reason}` in {:?}", module.left_out);
}

const FINE: &str = "export function fine(n) { return n > 2 ? 1 : 0; }\n";

#[test]
fn memory_without_end_is_told_in_a_call_and_on_loading() {
    let calls = format!(
        "{FINE}export function grow(n) {{ const a = []; for (;;) a.push(new Array(1e6).fill(n)); }}\n\
         const kept = [];\nexport function hoard() {{ for (;;) kept.push(Buffer.alloc(5e6, 1)); }}\n"
    );
    let outside = format!("const kept = [];\nfor (;;) kept.push(Buffer.alloc(5e6, 1));\n{FINE}");
    let inside = format!("const kept = [];\nfor (;;) kept.push(new Array(1e6).fill(1));\n{FINE}");
    let files = [
        ("package.json", r#"{"type": "module"}"#),
        ("src/calls.js", &calls),
        ("src/outside.js", &outside),
        ("src/inside.js", &inside),
    ];
    let Some(lab) = Lab::new(&files) else { return };
    let module = lab.write(Framework::Vitest, "src/calls.js");
    assert!(text(&module).contains("describe('fine'"), "{module:?}");
    // Whether the time or the memory ends first is the machine's choice.
    for name in ["grow(", "hoard("] {
        let found = module.defects.iter().find(|defect| defect.call.starts_with(name));
        let found = found.unwrap_or_else(|| panic!("no {name} in {:?}", module.defects));
        assert!(
            (found.what.contains("memory") || found.what.contains("no answer")) && found.line > 0,
            "{found:?}"
        );
    }
    lab.passes(&["vitest", "run"]);
    for file in ["src/outside.js", "src/inside.js"] {
        let module = lab.write(Framework::Vitest, file);
        leaves_out(&module, file, "more than 1024 MB of memory");
    }
}

#[test]
fn the_world_is_out_of_reach_however_it_is_imported() {
    let source = format!(
        "import {{ Worker }} from 'node:worker_threads';\nimport {{ spawn }} from 'node:child_process';\n\
         import * as programs from 'node:child_process';\nimport fs, {{ writeFileSync }} from 'node:fs';\n\
         export function thread() {{ return new Worker('1', {{ eval: true }}).threadId; }}\n\
         export function named() {{ return spawn('touch', ['escaped']).pid; }}\n\
         export function whole() {{ return programs.execSync('touch escaped').length; }}\n\
         export function wrote() {{ return writeFileSync('escaped', 'x'); }}\n\
         export function asks() {{ return fs.readFileSync(0, 'utf8').length; }}\n\
         export function listens() {{ process.stdin.resume(); return 1; }}\n{FINE}"
    );
    let loading =
        format!("import {{ execSync }} from 'node:child_process';\nexecSync('touch escaped');\n{FINE}");
    let files = [
        ("package.json", r#"{"type": "module"}"#),
        ("src/world.js", &source),
        ("src/loading.js", &loading),
        (
            "src/asking.js",
            "import fs from 'node:fs';\nexport const all = fs.readFileSync(0, 'utf8');\n",
        ),
        ("src/leaving.js", "process.exit(3);\nexport const a = 1;\n"),
    ];
    let Some(lab) = Lab::new(&files) else { return };
    let module = lab.write(Framework::Vitest, "src/world.js");
    for (name, reason) in [
        ("thread", "start a thread"),
        ("named", "start a program"),
        ("whole", "start a program"),
        ("wrote", "write files"),
        ("asks", "read the standard input"),
        ("listens", "read the standard input"),
    ] {
        leaves_out(&module, name, reason);
    }
    assert!(text(&module).contains("describe('fine'"), "{module:?}");
    for (file, reason) in [
        ("src/loading.js", "start a program"),
        ("src/asking.js", "read the standard input"),
        ("src/leaving.js", "end the process"),
    ] {
        leaves_out(&lab.write(Framework::Vitest, file), file, reason);
    }
    assert!(!lab.root().join("escaped").exists());
}

#[test]
fn raw_ways_to_files_and_into_the_engine_are_refused() {
    let source = format!(
        "const fs = require('node:fs');\n\
         function raw() {{ return process.binding('fs') ? 1 : 0; }}\n\
         function linked() {{ return process._linkedBinding('x') ? 1 : 0; }}\n\
         function sync() {{ const file = fs.openSync('escaped', 'w'); fs.closeSync(file); return 1; }}\n\
         function counted() {{ const file = fs.openSync('escaped', fs.constants.O_CREAT | fs.constants.O_RDWR); fs.closeSync(file); return 1; }}\n\
         function later() {{ fs.open('escaped', 'a', () => {{}}); return 1; }}\n\
         function stream() {{ fs.createWriteStream('escaped').end('x'); return 1; }}\n\
         function made() {{ new fs.WriteStream('escaped').end('x'); return 1; }}\n\
         async function promised() {{ const file = await fs.promises.open('escaped', 'w'); await file.close(); return 1; }}\n\
         function reads() {{ const file = fs.openSync('package.json', 'r'); fs.closeSync(file); return 'read'; }}\n\
         {}module.exports = {{ raw, linked, sync, counted, later, stream, made, promised, reads, fine }};\n",
        FINE.replace("export ", "")
    );
    let Some(lab) = Lab::new(&[("package.json", "{}"), ("src/raw.js", &source)]) else {
        return;
    };
    for framework in [Framework::Vitest, Framework::Jest] {
        let module = lab.write(framework, "src/raw.js");
        for (name, reason) in [
            ("raw", "reach into the engine"),
            ("linked", "reach into the engine"),
            ("sync", "write files"),
            ("counted", "write files"),
            ("later", "write files"),
            ("stream", "write files"),
            ("made", "write files"),
            ("promised", "write files"),
        ] {
            leaves_out(&module, name, reason);
        }
        let kept = text(&module);
        for name in ["reads", "fine"] {
            assert!(kept.contains(&format!("describe('{name}'")), "{kept}");
        }
        assert!(!lab.root().join("escaped").exists());
        std::fs::remove_dir_all(lab.root().join("tests")).unwrap();
    }
}

#[test]
fn changed_builtins_binary_output_and_late_errors_spare_the_others() {
    let source = format!(
        "process.stdout.write(Buffer.from([0, 255, 254, 27, 91]));\n\
         export function poison(n) {{ Array.prototype.push = () => {{ throw new Error('no'); }}; JSON.stringify = () => 'x'; return n; }}\n\
         export function later(n) {{ setTimeout(() => {{ throw new Error('later'); }}, 1); return n; }}\n\
         export function lost(n) {{ Promise.reject(new Error('lost')); return n; }}\n\
         export function blob(n) {{ return Buffer.from([n > 3 ? 1 : 2, 255, 0]); }}\n{FINE}"
    );
    let patched = format!("String.prototype.trim = () => 'patched';\n{FINE}");
    let files = [
        ("package.json", r#"{"type": "module"}"#),
        ("src/odd.js", &source),
        ("src/patched.js", &patched),
    ];
    let Some(lab) = Lab::new(&files) else { return };
    let module = lab.write(Framework::Vitest, "src/odd.js");
    for (name, reason) in [
        ("poison", "changes Array.prototype.push"),
        ("later", "fails later"),
        ("lost", "fails later"),
    ] {
        leaves_out(&module, name, reason);
    }
    let kept = text(&module);
    assert!(
        kept.contains("describe('fine'") && kept.contains("describe('blob'"),
        "{kept}"
    );
    lab.passes(&["vitest", "run"]);
    let module = lab.write(Framework::Vitest, "src/patched.js");
    leaves_out(
        &module,
        "src/patched.js",
        "changes String.prototype.trim when it is loaded",
    );
}

#[test]
fn what_goes_round_for_ever_between_promises_is_given_up() {
    let source = format!("export async function around() {{ for (;;) await null; }}\n{FINE}");
    let files = [
        ("package.json", "{}"),
        ("src/a.js", &*source.replace("export ", "")),
    ];
    let exported = format!("{}module.exports = {{ around, fine }};\n", files[1].1);
    let Some(lab) = Lab::new(&[files[0], ("src/a.js", &exported)]) else {
        return;
    };
    let module = lab.write(Framework::Jest, "src/a.js");
    leaves_out(&module, "around", "does not end");
    let found = module.defects.iter().find(|defect| defect.kind == "does not end");
    assert!(
        found.is_some_and(|defect| defect.line == 1 && defect.call == "around()"),
        "{module:?}"
    );
    assert!(text(&module).contains("describe('fine'"), "{module:?}");
    lab.passes(&["jest", "--ci"]);
}
