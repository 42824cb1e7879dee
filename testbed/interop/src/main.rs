//! Runs clew's tunnels against yorickvP/MinimaLT in both directions. See README.md; `run` starts it.

mod adapter;
mod child;
mod driver;
mod epoch;
mod keylog;
mod lane;
mod peer_cert;
mod peer_packet;
mod program;
mod run;
mod session;
mod to_client;
mod to_server;
mod translate;

use std::path::Path;
use std::process::ExitCode;

use run::{Places, Report};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scripts, diaries] = &arguments[..] else {
        eprintln!("usage: clew-interop SCRIPTS DIARIES (PEER and NODE_PATH are set by `run`)");
        return ExitCode::from(2);
    };
    let places = Places {
        scripts: Path::new(scripts),
        diaries: Path::new(diaries),
    };
    let reports = [to_server::run(&places), to_client::run(&places)];
    verdict(&reports)
}

fn verdict(reports: &[Result<Report, String>]) -> ExitCode {
    let (mut all, mut failed) = (0, 0);
    for report in reports {
        match report {
            Ok(report) => {
                all += report.len();
                failed += report.failed();
            }
            Err(error) => {
                println!("FAIL: it could not go on: {error}");
                failed += 1;
            }
        }
    }
    println!("{all} checks, {failed} failed");
    ExitCode::from(u8::from(failed > 0))
}
