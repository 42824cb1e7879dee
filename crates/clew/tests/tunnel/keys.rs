//! Keys that are sealed.

use crate::desk::Desk;
use std::fs;

#[test]
fn keys_are_sealed_on_request() {
    let desk = Desk::new();
    fs::write(desk.path("word"), "open sesame\n").unwrap();
    let key = desk.yes("keygen user -o me.key --new-passphrase-file word");
    let text = fs::read_to_string(desk.path("me.key")).unwrap();
    assert!(text.contains("clew-sealed-1"), "{text}");
    fs::write(desk.path("users"), &key).unwrap();
    desk.yes("keygen server --host a.example -o a.key --new-passphrase-file word");
    let line = "serve --key a.key --passphrase-file word --listen 127.0.0.1:0 --record web.record \
                --service echo=echo --users users";
    let _server = desk.start(line, "for ");
    let me = "--user me.key --passphrase-file";
    assert_eq!(desk.says(&format!("{me} word echo")).0, 0);
    assert_eq!(desk.says(&format!("{me} users echo")).0, 2);
}
