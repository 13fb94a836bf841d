//! The committed JSON Schema is the one of the types, and it accepts what the parser accepts.

use serde_json::Value;
use wavecrew_core::team::{Team, team_schema};

const COMMITTED: &str = include_str!("../../../../schema/team.schema.json");

#[test]
fn the_committed_schema_is_up_to_date() {
    let committed: Value = serde_json::from_str(COMMITTED).unwrap();
    assert!(
        committed == team_schema(),
        "schema/team.schema.json is stale; run `cargo run -p wavecrew-core --example team-schema > schema/team.schema.json`"
    );
}

#[test]
fn the_schema_accepts_every_built_in_team_and_refuses_a_misspelt_key() {
    let validator = jsonschema::validator_for(&team_schema()).unwrap();
    for name in Team::builtin_names() {
        let mut team: Value = toml::from_str(Team::builtin_text(name).unwrap()).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&team)
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
        team["titel"] = "x".into();
        assert!(!validator.is_valid(&team), "{name}");
    }
}
