//! What stands in posts of requests, and what a manager is asked for a row.

use clew_evidence::{RowQuestion, Warrant};
use clew_trustee::policy::Policy;
use clew_trustee::request::Message;

/// A post's kind and body: what decodes is written again as it was. Also a question for a row, a
/// warrant, and a trustee's policy.
pub fn request_post(data: &[u8]) {
    let Some((kind, body)) = data.split_first() else {
        return;
    };
    if let Some(message) = Message::decode(*kind, body) {
        assert_eq!(message.kind(), *kind);
        let written = message.encode().expect("what was read is short enough");
        assert_eq!(Message::decode(*kind, &written), Some(message));
    }
    if let Some(question) = RowQuestion::decode(body) {
        let written = question.encode().expect("what was read is short enough");
        assert_eq!(RowQuestion::decode(&written), Some(question));
    }
    if let Ok(text) = std::str::from_utf8(body) {
        if let Ok(warrant) = Warrant::decode(text) {
            assert_eq!(Warrant::decode(&warrant.encode()), Ok(warrant));
        }
        let _ = Policy::parse(text);
    }
}
