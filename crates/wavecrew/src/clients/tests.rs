use super::*;

const ALL: [Client; 5] = [
    Client::Codex,
    Client::Claude,
    Client::Gemini,
    Client::Qwen,
    Client::Opencode,
];

fn command() -> Vec<String> {
    ["/opt/wavecrew", "mcp"].map(str::to_owned).to_vec()
}

/// Settings of people: comments, odd spacing, other servers.
fn of_people(client: Client) -> Vec<&'static str> {
    match client {
        Client::Codex => vec![
            "",
            "model = 'o3' # best\n\n[mcp_servers.other]\ncommand   = \"x\" # mine\n\n[tui]\nnotifications = true\n",
        ],
        Client::Opencode => vec![
            "{\n  // mine\n  \"mcp\": {\n    \"other\": { \"type\": \"local\", \"command\": [\"x\"] }, // keep\n  },\n}\n",
            "{\"theme\":\"dark\"}",
        ],
        Client::Claude | Client::Gemini | Client::Qwen => vec![
            "{\n\t\"z\": 1e2,\n\t\"mcpServers\": {\"other\": {\"command\": \"x\"}},\n\t\"a\": [1,  2]\n}",
            "{}",
            "{\n  \"theme\": \"dark\"\n}\n",
        ],
    }
}

#[test]
fn what_is_put_in_twice_is_there_once_and_comes_out_without_a_trace() {
    for client in ALL {
        for before in of_people(client) {
            let once = client.with_entry(Some(before), &command()).unwrap();
            assert!(once.contains("/opt/wavecrew"), "{once}");
            assert_eq!(client.with_entry(Some(&once), &command()).unwrap(), once);
            let after = client.without_entry(&once).unwrap();
            // An object that was on one line may be on several now; nothing else changes.
            let squeezed = |text: &str| text.split_whitespace().collect::<String>().replace(",}", "}");
            assert_eq!(squeezed(&after), squeezed(before), "{client:?}");
            assert_eq!(client.without_entry(&after).unwrap(), after);
        }
    }
}

#[test]
fn lines_of_people_stay_as_they_are() {
    for client in ALL {
        for before in of_people(client) {
            let after = client.with_entry(Some(before), &command()).unwrap();
            for line in before
                .lines()
                .filter(|line| line.contains("mine") || line.contains("e2"))
            {
                assert!(after.contains(line), "{client:?} lost {line:?}:\n{after}");
            }
        }
    }
}

#[test]
fn a_new_file_is_one_that_the_client_reads() {
    let made = Client::Codex.with_entry(None, &command()).unwrap();
    assert!(
        made.starts_with("[mcp_servers.wavecrew]\ncommand = \"/opt/wavecrew\"\nargs = [\"mcp\"]\n"),
        "{made}"
    );
    assert!(made.contains("\ntool_timeout_sec = 86400\n"), "{made}");
    let made = Client::Gemini.with_entry(None, &command()).unwrap();
    let read: Value = serde_json::from_str(&made).unwrap();
    assert_eq!(
        read["mcpServers"]["wavecrew"],
        json!({"command": "/opt/wavecrew", "args": ["mcp"], "timeout": 86_400_000})
    );
}

#[test]
fn what_a_person_added_to_the_entry_stays_and_limits_are_only_raised() {
    let codex =
        "[mcp_servers.wavecrew]\ncommand = \"old\"\ntool_timeout_sec = 999999.5\nenabled = false # off\n";
    let after = Client::Codex.with_entry(Some(codex), &command()).unwrap();
    assert!(after.contains("command = \"/opt/wavecrew\"") && after.contains("enabled = false # off"));
    assert!(after.contains("tool_timeout_sec = 999999.5"), "{after}");
    let claude = r#"{"mcpServers": {"wavecrew": {"timeout": 1000, "env": {"A": "b"}}}}"#;
    let after = Client::Claude.with_entry(Some(claude), &command()).unwrap();
    let read: Value = serde_json::from_str(&after).unwrap();
    assert_eq!(read["mcpServers"]["wavecrew"]["timeout"], 86_400_000);
    assert_eq!(read["mcpServers"]["wavecrew"]["env"]["A"], "b");
}

#[test]
fn settings_that_cannot_be_understood_are_refused() {
    for (client, text, why) in [
        (Client::Codex, "model = ", "TOML parse error"),
        (Client::Codex, "mcp_servers = 3", "`mcp_servers` is not a table"),
        (Client::Claude, "{\"a\": ", "line 1"),
        (Client::Claude, "[1]", "does not hold a JSON object"),
        (
            Client::Gemini,
            "{\"mcpServers\": 3}",
            "`mcpServers` is not an object",
        ),
    ] {
        let error = client.with_entry(Some(text), &command()).unwrap_err();
        assert!(error.contains(why), "{client:?}: {error}");
    }
}
