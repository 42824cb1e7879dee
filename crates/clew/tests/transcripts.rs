//! The commands as people see them: transcripts in `cmd/`, run in a copy of the folder beside them.
//! `TRYCMD=overwrite` writes what the program says now; a changed transcript is a change to review.

const README: &str = include_str!("../../../README.md");
const README_TRANSCRIPT: &str = include_str!("cmd/readme.md");

#[test]
fn transcripts() {
    trycmd::TestCases::new().case("tests/cmd/*.md");
}

/// Every `clew` command that the README shows is in a transcript that runs it, in the same order.
#[test]
fn the_readme_shows_commands_that_work() {
    let commands = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("$ "));
        lines
            .filter(|line| line.starts_with("clew "))
            .map(str::to_owned)
            .collect()
    };
    let shown = commands(README);
    assert!(shown.len() >= 6);
    assert_eq!(shown, commands(README_TRANSCRIPT));
}
