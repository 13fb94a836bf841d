//! Prints the JSON Schema of team files: `cargo run -p wavecrew-core --example team-schema > schema/team.schema.json`

fn main() {
    println!("{:#}", wavecrew_core::team::team_schema());
}
