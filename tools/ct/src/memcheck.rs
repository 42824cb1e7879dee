//! Every operation once, on secrets that valgrind follows.

use super::operations::{Draws, Fixture, Operation, all, controls};
use super::valgrind;
use std::process::ExitCode;

/// Checks all operations in both of blst's codes, or shows that the controls are found.
pub fn run(leak: bool) -> ExitCode {
    if !valgrind::is_running() {
        eprintln!(
            "clew-ct: memcheck needs valgrind on x86-64 to follow the secrets\n\
             hint: tools/ct/ct runs it, and needs apt-get install valgrind"
        );
        return ExitCode::from(2);
    }
    let mut sound = true;
    for (code, adx) in [("portable", false), ("adx", true)] {
        valgrind::choose_blst(adx);
        println!("blst's {code} code");
        sound &= run_one_code(leak);
    }
    if sound {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn run_one_code(leak: bool) -> bool {
    let before = valgrind::errors();
    let fixture = Fixture::new();
    let errors = valgrind::errors() - before;
    // Its result is followed in what comes next.
    let mut sound = verdict("what signs and opens", errors, true);
    let operations = if leak { controls() } else { all(&fixture) };
    for operation in &operations {
        sound &= check(operation);
    }
    sound
}

fn check(operation: &Operation<'_>) -> bool {
    let before = valgrind::errors();
    let is_secret = operation.prepare(&mut Draws::random(3))();
    verdict(operation.name, valgrind::errors() - before, is_secret)
}

/// Where no secret comes out, none was followed, and nothing was checked.
fn verdict(name: &str, errors: usize, is_secret: bool) -> bool {
    let verdict = match (errors, is_secret) {
        (0, true) => "ok",
        (0, false) => "BROKEN",
        _ => "LEAK",
    };
    println!("  {verdict:<7}{name:<22} {errors} errors");
    errors == 0 && is_secret
}
