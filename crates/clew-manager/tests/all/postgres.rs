//! The same tests with PostgreSQL: this program runs itself.

use crate::common::cluster::{Cluster, POSTGRES, SOCKET};
use crate::skipped::skipped;
use std::env;
use std::process::Command;

/// Look into the file of SQLite, or copy it.
const SQLITE_ONLY: [&str; 15] = [
    "upgrade::",
    "sqlite_",
    "join::files::a_damaged_offer_is_not_given",
    "join::refusals::a_credential_under_another_history_is_refused",
    "revoke::after_65536_steps_a_rebase_is_due",
    "store::a_directory_that_is_no_store_is_refused",
    "store::an_unreadable_tree_node_is_damage",
    "store::other_layouts_are_refused",
    "store::secrets_are_their_owners_only",
    "store::the_store_never_holds_what_is_not_its_own",
    "store::what_the_database_refuses_is_said_with_its_path",
    "threats::a_restored_store_",
    "threats::an_epoch_id_has_one_register",
    "update::a_fork_is_found",
    // Not of the store, and long.
    "trustee::",
];

/// The tests of this program that the database can touch, with a server below.
#[test]
fn all_tests_pass_with_postgresql() {
    if env::var_os(SOCKET).is_some() {
        return; // this is the second run
    }
    let Some(server) = Cluster::start() else {
        return skipped(POSTGRES);
    };
    let mut again = Command::new(env::current_exe().unwrap());
    again.args(SQLITE_ONLY.iter().flat_map(|test| ["--skip", test]));
    again.env(SOCKET, server.socket());
    let done = again.output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{text}");
    assert!(text.contains("test result: ok"), "{text}");
}
