//! The rules of each access level, as data.

use super::*;

fn rules_of(access: Access, workspace: Workspace<'_>) -> (Vec<String>, Vec<String>) {
    let session = SessionPaths::at("/p/.workflow/.csv-wave/s");
    let names = ["src", "tests", "docs", "README.md", "Cargo.toml"].map(str::to_owned);
    let folder = match workspace {
        Workspace::Worktree { .. } => Path::new("/p/.workflow/.csv-wave/s/worktrees/T"),
        Workspace::Copy => Path::new("/p/.workflow/.csv-wave/s/tree"),
        Workspace::Project { .. } => Path::new("/p"),
    };
    let rules = write_rules(&WorkerPlaces {
        access,
        session: Some((&session, 3)),
        work_folders: &["plan".to_owned()],
        folder,
        workspace,
        names: &names,
        row: "Change .circleci",
        temp: Path::new("/tmp/w/3"),
        private: Path::new("/h/.cache/wavecrew/T.1"),
        state: &["/h/.codex".into()],
        home: Path::new("/h"),
        extra_write: &["/extra".into()],
    });
    let texts = |paths: Vec<PathBuf>| -> Vec<String> {
        let paths = paths.into_iter().map(|path| path.display().to_string());
        paths.filter(|path| !path.starts_with("/dev/")).collect()
    };
    (texts(rules.write), texts(rules.protect))
}

const EVERYBODY: [&str; 9] = [
    "/tmp/w/3",
    "/h/.cache/wavecrew/T.1",
    "/p/.workflow/.csv-wave/s/.run/in-3",
    "/p/.workflow/.csv-wave/s/wisdom",
    "/p/.workflow/.csv-wave/s/discoveries.ndjson",
    "/p/.workflow/.csv-wave/s/.msg",
    "/p/.workflow/.csv-wave/s/.run/asks",
    "/p/.workflow/.csv-wave/s/plan",
    "/h/.codex",
];

fn own(access: Access, workspace: Workspace<'_>) -> Vec<String> {
    let (write, _) = rules_of(access, workspace);
    let common = |path: &String| EVERYBODY.contains(&path.as_str()) || path == "/extra";
    write
        .into_iter()
        .filter(|path| !common(path) && !tool_caches(Path::new("/h")).any(|cache| Path::new(path) == cache))
        .collect()
}

#[test]
fn read_only_roles_write_their_results_and_nothing_of_the_project() {
    let (write, protect) = rules_of(Access::ReadOnly, Workspace::Project { git: None });
    let mut wanted: Vec<&str> = EVERYBODY.to_vec();
    wanted.push("/extra");
    assert_eq!(write, wanted);
    assert!(protect.is_empty());
}

#[test]
fn tests_and_docs_write_their_folders() {
    let project = Workspace::Project { git: None };
    assert_eq!(own(Access::Tests, project), ["/p/tests"]);
    assert_eq!(own(Access::Docs, project), ["/p/docs", "/p/README.md"]);
    assert!(
        own(Access::Source, Workspace::Copy).is_empty(),
        "a copy is only read"
    );
}

#[test]
fn a_project_without_the_folder_of_a_role_gets_it() {
    let missing = |access, names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        missing_folder(access, &names)
    };
    assert_eq!(missing(Access::Tests, &["src", "docs"]), Some("tests"));
    assert_eq!(missing(Access::Tests, &["src", "spec"]), None);
    assert_eq!(missing(Access::Docs, &["README.md"]), Some("docs"));
    assert_eq!(missing(Access::Source, &[]), None);
    assert_eq!(missing(Access::ReadOnly, &[]), None);
}

#[test]
fn source_in_the_project_changes_neither_commands_of_git_nor_the_session() {
    let git = Path::new("/p/.git");
    let (_, protect) = rules_of(Access::Source, Workspace::Project { git: Some(git) });
    assert_eq!(
        own(Access::Source, Workspace::Project { git: Some(git) }),
        ["/p", "/p/.git"]
    );
    for path in [
        "wavecrew.toml",
        ".wavecrew",
        ".workflow",
        ".git/hooks",
        ".git/config",
        ".github",
    ] {
        assert!(protect.contains(&format!("/p/{path}")), "{path}: {protect:?}");
    }
    assert!(!protect.contains(&"/p/.circleci".to_owned()), "its row names it");
}

#[test]
fn source_in_a_worktree_changes_nothing_outside_of_it() {
    let (git, own_folder) = (Path::new("/p/.git"), Path::new("/p/.git/worktrees/T"));
    let workspace = Workspace::Worktree { git, own: own_folder };
    let written = own(Access::Source, workspace);
    assert!(!written.contains(&"/p".to_owned()) && !written.contains(&"/p/.git".to_owned()));
    assert!(written.contains(&"/p/.workflow/.csv-wave/s/worktrees/T".to_owned()));
    let (_, protect) = rules_of(Access::Source, workspace);
    assert!(protect.contains(&"/p/.git/worktrees/T/commondir".to_owned()));
}

#[test]
fn nobody_writes_what_the_run_trusts() {
    let session = SessionPaths::at("/p/.workflow/.csv-wave/s");
    let trusted = [
        session.journal_file(),
        session.session_json(),
        session.tasks_csv(),
        session.lock_file(),
        session.team_file(),
        session.token_file(3),
        session.report_file("T", 1),
        session.log_file("T", 1),
        session.inbox(4),
        PathBuf::from("/p/.workflow/.csv-wave/other/wisdom"),
    ];
    let git = Path::new("/p/.git");
    for access in [Access::ReadOnly, Access::Tests, Access::Docs, Access::Source] {
        let (write, protect) = rules_of(access, Workspace::Project { git: Some(git) });
        let depth = |rules: &[String], path: &Path| {
            let covering = rules.iter().filter(|rule| path.starts_with(rule));
            covering.map(String::len).max().unwrap_or(0)
        };
        for path in &trusted {
            let written = depth(&write, path);
            assert!(
                written == 0 || depth(&protect, path) > written,
                "{access:?} {}",
                path.display()
            );
        }
    }
}
