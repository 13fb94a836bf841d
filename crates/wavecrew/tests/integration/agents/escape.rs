//! Real agents try to leave their confinement: the fake model makes them run every attempt of the escape
//! suite.

use crate::agents::task::{Agent, Task};
use crate::escape::{HOME_FILES, list_of_attempts, write};
use std::fs;
use wavecrew_process::sandbox::{LandlockAbi, Support};

const REPORT: &str = r#"{"id":"A","status":"completed","findings":"tried"}"#;

/// Finds the guardian above it, and tries every line of its list.
const TRY: &str = r#"pid=$$
while ! tr '\0' ' ' < /proc/$pid/cmdline | grep -q __guardian; do pid=$(cut -d' ' -f4 /proc/$pid/stat); [ $pid -gt 1 ] || break; done
export PPID_OF_WORKER=$pid
export S=$(echo $P/.workflow/.csv-wave/*) TMPDIR=${TMPDIR:-/tmp}
# The guardian's parent is outside of the PID namespace.
export COORDINATOR=$(sed 's/.*"pid":\([0-9]*\).*/\1/' $S/.lock)
while IFS='	' read -r name line; do
  timeout 10 sh -c "$line" < /dev/null > /dev/null 2>&1 && echo "ESCAPED $name" >> $P/tried.txt
done < $P/attempts
echo "TRIED $(wc -l < $P/attempts) below $pid" >> $P/tried.txt
"#;

fn escapes(id: &'static str) {
    let support = Support::detect();
    if support.landlock < LandlockAbi(6) {
        eprintln!("not checked: the kernel has no Landlock 6");
        return;
    }
    let Some(agent) = Agent::new(id) else { return };
    let (home, victim, project) = (agent.home(), agent.beside("victim"), agent.path(""));
    for file in ["file", "folder/file"] {
        write(&victim.join(file), "of somebody else");
    }
    fs::create_dir(victim.join("empty")).unwrap();
    // The agent may read its own login, which its settings may have written.
    let login = format!(".{id}/");
    for file in HOME_FILES.iter().filter(|file| !file.starts_with(&login)) {
        write(&home.join(file), "secret");
    }
    agent.git(&["init", "-q"]);
    fs::create_dir_all(agent.path(".git/info")).unwrap();
    let attempts: Vec<String> = list_of_attempts(support)
        .lines()
        // Its own token is not in the environment of its tools, so that any token looks like another's.
        .filter(|line| !line.starts_with(&format!("read-{id}-login")) && !line.contains("WAVECREW_"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert!(!support.mounts || attempts.len() >= 60, "{}", attempts.len());
    write(&agent.path("attempts"), &attempts.concat());
    let exports = format!(
        "export P='{}' V='{}' HOME='{}'\n",
        project.display().to_string().trim_end_matches('/'),
        victim.display(),
        home.display()
    );
    write(&agent.path("try.sh"), &format!("{exports}{TRY}"));
    let script = format!("Try.\n@@shell sh ./try.sh\n@@final {REPORT}");
    agent.run(&Task::one_shot(script), "");
    agent.expect_stop("ok");
    let tried = agent.text("tried.txt");
    assert!(tried.contains("TRIED"), "{tried}\n{}", agent.log());
    assert!(!tried.contains("ESCAPED"), "{tried}");
    assert_eq!(
        fs::read_to_string(victim.join("file")).unwrap(),
        "of somebody else"
    );
    agent.note("cannot leave its confinement", "yes");
}

#[test]
fn codex_cannot_leave_its_confinement() {
    escapes("codex");
}

#[test]
fn claude_cannot_leave_its_confinement() {
    escapes("claude");
}
