//! Modules that misbehave: each is reported, and the rest gets tests.

use wavecrew_test_support::depth;
use wavecrew_testgen::{Framework, Module};

use super::project::{TestProject, text};

#[test]
fn targets_that_cannot_be_called_are_reported() {
    let source = "export function wait() { for (;;) {} }\n\
                  export function go() { return require('child_process').execSync('true'); }\n\
                  export function fine(n) { return n + 1; }\n";
    let files = [
        ("package.json", r#"{"type": "module"}"#),
        ("src/a.js", source),
        ("src/broken.js", "export const a = ;\n"),
        ("src/exits.js", "process.exit(3);\nexport const a = 1;\n"),
        (
            "src/needs.js",
            "import x from 'left-out';\nexport const a = () => x;\n",
        ),
    ];
    let Some(project) = TestProject::new(&files) else {
        return;
    };
    let module = project.generate(Framework::Vitest, "src/a.js");
    assert!(
        module.defects.iter().any(|defect| defect.kind == "does not end"),
        "{module:?}"
    );
    assert!(text(&module).contains("describe('fine'"));
    for file in ["src/broken.js", "src/exits.js"] {
        let module = project.generate(Framework::Vitest, file);
        assert!(
            module.written.is_empty() && module.dropped.len() == 1,
            "{module:?}"
        );
    }
    let module = project.generate(Framework::Vitest, "src/needs.js");
    let why = &module.dropped[0].why;
    assert!(
        why.ends_with("(fix: npm install --save-dev left-out)") && why.contains(" src/needs.js"),
        "{why}"
    );
}

#[test]
fn calls_that_end_the_process_or_recurse_do_not_stop_the_others() {
    let source = "export function down(n) { return down(n + 1) + 1; }\n\
                  export function leave(n) { if (n > 3) process.exit(n); return n; }\n\
                  export function bytes(n) { process.stdout.write(Buffer.from([255, 0, n])); return n; }\n\
                  export function fine(n) { return n + 1; }\n";
    let files = [("package.json", r#"{"type": "module"}"#), ("src/a.js", source)];
    let Some(project) = TestProject::new(&files) else {
        return;
    };
    let module = project.generate(Framework::Vitest, "src/a.js");
    assert!(text(&module).contains("describe('fine'"), "{module:?}");
    assert!(
        module
            .dropped
            .iter()
            .any(|dropped| dropped.why.contains("end the process")),
        "{module:?}"
    );
    project.assert_passes(&["vitest", "run"]);
}

/// Something with this name was dropped for this reason.
#[track_caller]
fn assert_dropped(module: &Module, name: &str, reason: &str) {
    let found = module
        .dropped
        .iter()
        .any(|dropped| dropped.what.ends_with(name) && dropped.why.contains(reason));
    assert!(found, "no `{name}: {reason}` in {:?}", module.dropped);
}

const FINE: &str = "export function fine(n) { return n > 2 ? 1 : 0; }\n";

#[test]
fn running_out_of_memory_is_reported_in_a_call_and_on_loading() {
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
    let Some(project) = TestProject::new(&files) else {
        return;
    };
    let module = project.generate(Framework::Vitest, "src/calls.js");
    assert!(text(&module).contains("describe('fine'"), "{module:?}");
    // Whether time or memory runs out first depends on the machine.
    for name in ["grow(", "hoard("] {
        let found = module.defects.iter().find(|defect| defect.call.starts_with(name));
        let found = found.unwrap_or_else(|| panic!("no {name} in {:?}", module.defects));
        assert!(
            (found.what.contains("memory") || found.what.contains("no result")) && found.line > 0,
            "{found:?}"
        );
    }
    project.assert_passes(&["vitest", "run"]);
    for file in ["src/outside.js", "src/inside.js"] {
        let module = project.generate(Framework::Vitest, file);
        assert_dropped(&module, file, "more than 1024 MB of memory");
    }
}

#[test]
fn the_sandbox_holds_however_a_module_is_imported() {
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
        ("src/escapes.js", &source),
        ("src/loading.js", &loading),
        (
            "src/asking.js",
            "import fs from 'node:fs';\nexport const all = fs.readFileSync(0, 'utf8');\n",
        ),
        ("src/leaving.js", "process.exit(3);\nexport const a = 1;\n"),
    ];
    let Some(project) = TestProject::new(&files) else {
        return;
    };
    let module = project.generate(Framework::Vitest, "src/escapes.js");
    for (name, reason) in [
        ("thread", "start a thread"),
        ("named", "start a program"),
        ("whole", "start a program"),
        ("wrote", "write files"),
        ("asks", "read standard input"),
        ("listens", "read standard input"),
    ] {
        assert_dropped(&module, name, reason);
    }
    assert!(text(&module).contains("describe('fine'"), "{module:?}");
    for (file, reason) in [
        ("src/loading.js", "start a program"),
        ("src/asking.js", "read standard input"),
        ("src/leaving.js", "end the process"),
    ] {
        assert_dropped(&project.generate(Framework::Vitest, file), file, reason);
    }
    assert!(!project.root().join("escaped").exists());
}

#[test]
fn raw_file_access_and_engine_internals_are_refused() {
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
    let Some(project) = TestProject::new(&[("package.json", "{}"), ("src/raw.js", &source)]) else {
        return;
    };
    for framework in depth::sample(
        "frameworks of raw access",
        [Framework::Vitest, Framework::Jest],
        1,
    ) {
        let module = project.generate(framework, "src/raw.js");
        for (name, reason) in [
            ("raw", "access engine internals"),
            ("linked", "access engine internals"),
            ("sync", "write files"),
            ("counted", "write files"),
            ("later", "write files"),
            ("stream", "write files"),
            ("made", "write files"),
            ("promised", "write files"),
        ] {
            assert_dropped(&module, name, reason);
        }
        let kept = text(&module);
        for name in ["reads", "fine"] {
            assert!(kept.contains(&format!("describe('{name}'")), "{kept}");
        }
        assert!(!project.root().join("escaped").exists());
        std::fs::remove_dir_all(project.root().join("tests")).unwrap();
    }
}

#[test]
fn changed_builtins_binary_output_and_async_errors_do_not_stop_the_others() {
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
    let Some(project) = TestProject::new(&files) else {
        return;
    };
    let module = project.generate(Framework::Vitest, "src/odd.js");
    for (name, reason) in [
        ("poison", "changes Array.prototype.push"),
        ("later", "throws after it has returned"),
        ("lost", "throws after it has returned"),
    ] {
        assert_dropped(&module, name, reason);
    }
    let kept = text(&module);
    assert!(
        kept.contains("describe('fine'") && kept.contains("describe('blob'"),
        "{kept}"
    );
    project.assert_passes(&["vitest", "run"]);
    let module = project.generate(Framework::Vitest, "src/patched.js");
    assert_dropped(
        &module,
        "src/patched.js",
        "changes String.prototype.trim when it is loaded",
    );
}

#[test]
fn an_endless_chain_of_promises_is_dropped() {
    let source = format!("export async function around() {{ for (;;) await null; }}\n{FINE}");
    let files = [
        ("package.json", "{}"),
        ("src/a.js", &*source.replace("export ", "")),
    ];
    let exported = format!("{}module.exports = {{ around, fine }};\n", files[1].1);
    let Some(project) = TestProject::new(&[files[0], ("src/a.js", &exported)]) else {
        return;
    };
    let module = project.generate(Framework::Jest, "src/a.js");
    assert_dropped(&module, "around", "does not end");
    let found = module.defects.iter().find(|defect| defect.kind == "does not end");
    assert!(
        found.is_some_and(|defect| defect.line == 1 && defect.call == "around()"),
        "{module:?}"
    );
    assert!(text(&module).contains("describe('fine'"), "{module:?}");
    project.assert_passes(&["jest", "--ci"]);
}
