//! Requests and projects that are not as hoped for, each with its own message.

use crate::testing::lab::Lab;

#[test]
fn what_cannot_be_run_is_refused_before_anything_is_written() {
    let Some(lab) = Lab::new(&[("README.md", "nothing\n")]) else {
        return;
    };
    lab.agent("");
    lab.run(&[]).exits(2).says("there is no source file to test");
    lab.write("a.py", "x = 1\n");
    lab.run(&["--since", "HEAD"])
        .exits(2)
        .says("`--since HEAD` needs a git repository");
    lab.run(&["--target", "L9=10"])
        .exits(2)
        .says("`--target L9=10` is not a layer with a percentage");
    lab.run(&["--pipeline", "huge"])
        .exits(2)
        .says("no pipeline `huge`");
    lab.wavecrew(&["plan", "lifecycle", "x", "--since", "HEAD"])
        .exits(2)
        .says("the team `lifecycle` has no flag --since");
    assert!(!lab.project.join(".workflow").exists());
}

#[test]
fn the_pipeline_follows_the_size_of_the_change() {
    let Some(lab) = Lab::new(&[("pyproject.toml", ""), ("src/a/x.py", "x = 1\n")]) else {
        return;
    };
    let planned =
        |lab: &Lab, words: &[&str]| lab.wavecrew(&[&["plan", "testing"], words].concat()).exits(0).out;
    assert!(planned(&lab, &[]).contains("Pipeline targeted: 1 file in 1 module"));
    for n in 0..4 {
        lab.write(&format!("src/m{n}/y.py"), "y = 1\n");
    }
    assert!(planned(&lab, &[]).contains("Pipeline comprehensive: 5 files in 5 modules"));
    lab.git(&["init", "-q"])
        .git(&["add", "."])
        .git(&["commit", "-qm", "one"]);
    lab.write("src/a/x.py", "x = 2\n");
    lab.git(&["commit", "-qam", "two"]);
    assert!(planned(&lab, &[]).contains("Pipeline targeted: 1 file in 1 module"));
    let table = planned(&lab, &["--target", "L1=91", "--json"]);
    assert!(
        table.contains("\"91\"") && table.contains("src/a/x.py"),
        "{table}"
    );
}

#[test]
fn a_red_baseline_a_broken_source_and_a_missing_package_are_told_apart() {
    let Some(lab) = Lab::shop() else { return };
    lab.write("shop/broken.py", "def x(:\n");
    lab.write(
        "tests/test_old.py",
        "import nowhere_to_be_found\n\n\ndef test_x():\n    assert nowhere_to_be_found.x() == 1\n",
    );
    lab.write("tests/test_red.py", "def test_red():\n    assert 1 == 2\n");
    lab.agent(
        "if task == 'TESTGEN-001':\n    text(layer / 'test_price.py', 'from shop.price import is_cheap, total\\n\\n\\ndef test_all():\\n    assert total([1, 2]) == 3\\n    assert is_cheap(9) is True\\n    assert is_cheap(10) is False\\n')\n",
    );
    lab.run(&["--mutation", "off", "--target", "L1=60"])
        .exits(0)
        .says("2 of them already failing");
    let row = lab.row("TESTRUN-001");
    assert_eq!(
        (row["status"].as_str(), row["pass_rate"].as_str()),
        ("completed", "1.00")
    );
    let run = lab.json("results/run-L1.json");
    assert!(
        run["notes"]
            .to_string()
            .contains("cannot be parsed, counted as 0 %: shop/broken.py"),
        "{run}"
    );
}
