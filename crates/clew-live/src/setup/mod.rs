//! What needs privileges: interface, routes, rules, filter. A plan of steps, each with its undo.
//!
//! [`plan`] is pure. [`Facts`] are what it has to know of the host. [`Place`] keeps the undo of each
//! step on disk before the step is done, so that `clew down` undoes a half-made set-up, too.

mod addresses;
mod changes;
mod error;
mod facts;
mod force;
mod kept;
mod place;
mod plan;
pub mod privileges;
mod programs;
mod ruleset;

pub use addresses::own_networks;
pub use changes::Changes;
pub use error::SetupError;
pub use facts::{Facts, Route, account, routes_now};
pub use force::Force;
pub use kept::{EXCHANGE, Kept, refuse_shared_prefixes};
pub use place::{Confirmed, Lock, Made, Place, Refused};
pub use plan::plan;
pub use programs::{Programs, filtered, find};
pub use ruleset::QueueRule;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// Something that is done to the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Action {
    /// Runs a program, without a shell.
    Run {
        /// An absolute path.
        program: PathBuf,
        /// Its arguments.
        arguments: Vec<String>,
        /// What it reads on standard input.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        input: String,
    },
    /// Appends a rule to a chain that hands packets to a queue, where `nft` cannot write it.
    Queue {
        /// The table, of family `inet`.
        table: String,
        /// The chain.
        chain: String,
        /// The number of the queue.
        number: u16,
    },
    /// Writes a setting of the kernel.
    Write {
        /// A file in `/proc/sys`.
        path: PathBuf,
        /// What is written.
        text: String,
    },
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is done.
    pub action: Action,
    /// What undoes it. `None` if the undo of an earlier step does.
    pub undo: Option<Action>,
}

/// All steps of a set-up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The interface. Traffic goes as before.
    pub prepare: Vec<Step>,
    /// From here on traffic is captured.
    pub capture: Vec<Step>,
}

impl Plan {
    /// Returns all steps in their order.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.prepare.iter().chain(&self.capture)
    }
}

impl Action {
    /// Returns what is done, for people. A list of commands is said one by one.
    pub fn commands(&self) -> Vec<String> {
        match self {
            Self::Run {
                program,
                arguments,
                input,
            } if programs::is_batch(arguments) => {
                let family: Vec<String> = arguments.iter().take(1).cloned().collect();
                let ip = programs::invocation(program, &family);
                input.lines().map(|line| format!("{ip} {line}")).collect()
            }
            _ => vec![self.to_string()],
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run {
                program,
                arguments,
                input,
            } => {
                write!(f, "{}", programs::invocation(program, arguments))?;
                for line in input.lines() {
                    write!(f, "\n    {line}")?;
                }
                Ok(())
            }
            Self::Queue {
                table,
                chain,
                number,
            } => {
                write!(
                    f,
                    "append to chain {chain} of table inet {table}: target NFQUEUE {number}"
                )
            }
            Self::Write { path, text } => write!(f, "write {text} to {}", path.display()),
        }
    }
}
