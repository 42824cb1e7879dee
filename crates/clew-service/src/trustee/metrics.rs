//! What a trustee's service counts.

use crate::metrics::counters;

counters! {
    "trustee";
    turns: "Looks at the manager's board that went well.",
    failures: "Looks at the manager's board that failed.",
    orders: "Decisions that the operator made on the page.",
    orders_refused: "Decisions on the page that were not taken.",
    notices: "Notices that were taken.",
    notice_failures: "Attempts to send a notice that failed.",
    notices_lost: "Notices that were given up.",
    logins: "Logins to the pages.",
    logins_refused: "Logins to the pages that were refused.",
}
