//! The `clew` binary.

fn main() -> std::process::ExitCode {
    clew::run(std::env::args_os())
}
